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

# require_refusal(FILE LINE WORDS): the build stops, and its output has WORDS, if FILE has LINE.
function(require_refusal file line words)
  file(WRITE ${SCRATCH}/${file} "#pragma once\n${line}\n")
  run(output ${CMAKE_COMMAND} --build ${SCRATCH}/build --target forge_core)
  file(REMOVE ${SCRATCH}/${file})
  string(FIND "${output}" "${file}: ${line}" named_file)
  string(FIND "${output}" "${words}" named_rule)
  string(FIND "${output}" "Building CXX" compiled)
  if(status EQUAL 0 OR named_file EQUAL -1 OR named_rule EQUAL -1 OR NOT compiled EQUAL -1)
    message(FATAL_ERROR
      "${file} with ${line} was to stop the build, by name, before anything compiles:\n${output}")
  endif()
endfunction()

require_refusal(include/forge/core/planted.h "#include \"forge/serve/server.h\"" "layer 'core' may include: core")
require_refusal(include/forge/core/planted.cuh "#include \"forge/simt/dialect.h\"" "layer 'core' may include: core")
require_refusal(src/core/planted.h "#  include <forge/numerics/philox.h>  // not hidden by spaces" "layer 'core'")
require_refusal(include/forge/core/planted.h "#include <boost/asio.hpp>" "layer 'core' may use")
require_refusal(src/core/planted.h "#include \"core/../../serve/server.h\"" "layer 'core': paths are plain")
# Without a folder, or with one that is no layer: by the file that is meant.
require_refusal(src/serve/planted.h "#include \"kernel_table.cuh\"" "it is of 'kernels'; layer 'serve' may include")
require_refusal(src/serve/planted.h "#include \"kernels/kernel_table.cuh\"" "it is of 'kernels'; layer 'serve'")
require_refusal(src/core/planted.h "#include \"merges.h\"" "it is of 'text'; layer 'core'")
require_refusal(src/core/planted.h "#include \"nowhere.h\"" "layer 'core': no layer has a file of this name")
require_refusal(src/core/planted.h "#include <pcre2.h>" "layer 'core' may use")

# require_refused_table(LAYER WORD RULE): the check fails and says RULE if LAYER may include WORD.
function(require_refused_table layer word rule)
  file(READ ${ROOT}/cmake/layers.txt table)
  string(REGEX REPLACE "\n(${layer}:[^|\n]*)" "\n\\1 ${word} " table "${table}")
  file(WRITE ${SCRATCH}/cmake/layers.txt "${table}")
  run(output ${CMAKE_COMMAND} -DROOT=${SCRATCH} -P ${SCRATCH}/cmake/check_layers.cmake)
  string(FIND "${output}" "cmake/layers.txt: ${rule}" named)
  if(status EQUAL 0 OR named EQUAL -1)
    message(FATAL_ERROR "layers.txt with ${word} for ${layer} was to be refused:\n${output}")
  endif()
endfunction()

require_refused_table(formats numerics "layer 'formats' may include 'numerics', and no file of it does")
require_refused_table(sampling "| tl" "layer 'sampling' may include 'tl', and no file of it does")
require_refused_table(core engine "'core' names 'engine', which is not above it in the table")
