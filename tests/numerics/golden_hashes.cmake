# Builds golden_hashes.cc and contraction_canary.cc with every compiler at hand, at several
# optimisation levels, and requires the same output of all. Each build is one CTest test.
find_program(FORGE_GXX NAMES g++ g++-14 g++-13 g++-12)
find_program(FORGE_CLANGXX NAMES clang++ clang++-18 clang++-16 clang++-14)
find_package(Python3 COMPONENTS Interpreter)

# forge_add_build_test(NAME COMPILER FLAGS SOURCES EXPECTED)
function(forge_add_build_test name compiler flags sources expected)
  add_test(NAME ${name}
    COMMAND ${CMAKE_COMMAND} -DCOMPILER=${compiler} "-DFLAGS=${flags}" "-DSOURCES=${sources}"
      "-DEXPECTED=${expected}" -DINCLUDE=${PROJECT_SOURCE_DIR}/include
      -DPROGRAM=${CMAKE_CURRENT_BINARY_DIR}/${name}
      -P ${CMAKE_CURRENT_SOURCE_DIR}/check_build.cmake)
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:")
endfunction()

file(READ golden_hashes.txt golden_hashes)
set(golden_sources ${CMAKE_CURRENT_SOURCE_DIR}/golden_hashes.cc
  ${PROJECT_SOURCE_DIR}/src/numerics/attention_reference.cc)
set(canary_source ${CMAKE_CURRENT_SOURCE_DIR}/contraction_canary.cc)
set(contract_flags -ffp-contract=off -fno-math-errno)

foreach(compiler IN ITEMS ${FORGE_GXX} ${FORGE_CLANGXX})
  get_filename_component(compiler_name ${compiler} NAME)
  foreach(level "-O0" "-O2" "-O3 -march=native")
    string(REGEX REPLACE "[- =]+" "_" suffix "${compiler_name}${level}")
    separate_arguments(level)
    forge_add_build_test(golden_hashes_${suffix}
      ${compiler} "${level};${contract_flags}" "${golden_sources}" "${golden_hashes}")
  endforeach()
  # The canary must live under the project's flags and die without them.
  forge_add_build_test(canary_lives_${compiler_name}
    ${compiler} "-O3;-march=native;${contract_flags}" ${canary_source} "separate\n")
  forge_add_build_test(canary_dies_${compiler_name}
    ${compiler} "-O2;-march=native;-ffp-contract=fast" ${canary_source} "contracted\n")
endforeach()

if(Python3_FOUND)
  add_test(NAME golden_hashes_are_those_of_exact_arithmetic
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/golden_oracle.py
      ${CMAKE_CURRENT_SOURCE_DIR}/golden_hashes.txt)
endif()
