# Plants includes that cmake/layers.txt forbids in a copy of the tree, and requires that the build
# stops before it compiles anything and names the file, the include and the layer.
file(REMOVE_RECURSE ${SCRATCH})
file(COPY ${ROOT}/CMakeLists.txt ${ROOT}/cmake ${ROOT}/cuda ${ROOT}/include ${ROOT}/sim ${ROOT}/src
  DESTINATION ${SCRATCH})

function(run out)
  execute_process(COMMAND ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(status ${status} PARENT_SCOPE)
  set(${out} "${output}" PARENT_SCOPE)
endfunction()

run(output ${CMAKE_COMMAND} -S ${SCRATCH} -B ${SCRATCH}/build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${CXX} -DFORGE_BUILD_TESTS=OFF -DFORGE_BUILD_BENCHMARKS=OFF
  -DFORGE_CUDA=OFF)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "The copy does not configure:\n${output}")
endif()
run(output ${CMAKE_COMMAND} --build ${SCRATCH}/build --target check_layers)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "The copy fails before anything is planted:\n${output}")
endif()

function(require_refusal file line)
  get_filename_component(name ${SCRATCH}/${file} NAME)
  file(WRITE ${SCRATCH}/${file} "#pragma once\n${line}\n")
  run(output ${CMAKE_COMMAND} --build ${SCRATCH}/build --target forge_core)
  file(REMOVE ${SCRATCH}/${file})
  string(FIND "${output}" "${file}: ${line}" named_file)
  string(FIND "${output}" "layer 'core'" named_layer)
  string(FIND "${output}" "Building CXX" compiled)
  if(status EQUAL 0 OR named_file EQUAL -1 OR named_layer EQUAL -1 OR NOT compiled EQUAL -1)
    message(FATAL_ERROR
      "${file} with ${line} was to stop the build, by name, before anything compiles:\n${output}")
  endif()
endfunction()

require_refusal(include/forge/core/planted.h "#include \"forge/serve/server.h\"")
require_refusal(src/core/planted.h "#  include <forge/numerics/philox.h>  // not hidden by spaces")
require_refusal(include/forge/core/planted.h "#include <boost/asio.hpp>")
require_refusal(src/core/planted.h "#include \"core/../../serve/server.h\"")
