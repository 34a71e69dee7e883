# cmake -DROOT=... -DSCRATCH=... -DCTEST=... -P ci_counts.cmake: what .ci/run counts, held against a
# suite that is planted here, with a test of each kind.
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH}/green ${SCRATCH}/red)
set(green [=[
add_test(Plain.passes true)
add_test(Plain.passes_too true)
add_test(Code.skips sh -c "exit 77")
set_tests_properties(Code.skips PROPERTIES SKIP_RETURN_CODE 77)
# As gtest_discover_tests registers a test: GTEST_SKIP prints this.
add_test("Of/Words.skips/extra  # GetParam() = extra (1)" sh -c "echo '[  SKIPPED ] Of/Words.skips/extra (0 ms)'")
set_tests_properties("Of/Words.skips/extra  # GetParam() = extra (1)" PROPERTIES
  SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
add_test(Switched.off true)
set_tests_properties(Switched.off PROPERTIES DISABLED TRUE)
]=])
file(WRITE ${SCRATCH}/green/CTestTestfile.cmake "${green}")
file(WRITE ${SCRATCH}/red/CTestTestfile.cmake "${green}
add_test(Plain.fails false)
add_test(Plain.is_not_there ${SCRATCH}/no_such_program)
# What a test that fails prints must not be taken for ctest's own words.
add_test(Plain.lies sh -c \"echo '100% tests passed, 0 tests failed out of 1000'; exit 1\")
")

# The functions of .ci/run, and then COMMANDS instead of its stages. Sets `output`.
function(run_with commands)
  file(READ ${ROOT}/.ci/run script)
  string(FIND "${script}" "\nctest_in()" end)
  if(end LESS 0)
    message(FATAL_ERROR ".ci/run has no ctest_in() after its functions")
  endif()
  string(SUBSTRING "${script}" 0 ${end} functions)
  execute_process(COMMAND bash -c "${functions}\n${commands}" ${ROOT}/.ci/run
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_end what end)
  string(REGEX REPLACE " in [0-9]+ s\\.| after [0-9]+ s\\." "." actual "${output}")
  string(LENGTH "${end}" length)
  string(LENGTH "${actual}" all)
  math(EXPR first "${all} - ${length}")
  if(first GREATER_EQUAL 0)
    string(SUBSTRING "${actual}" ${first} -1 actual)
  endif()
  if(NOT actual STREQUAL end)
    message(FATAL_ERROR "${what}: .ci/run ends in\n${actual}\nand not in\n${end}")
  endif()
endfunction()

run_with("stage one
counted ${CTEST} --test-dir ${SCRATCH}/green
stage two
counted ${CTEST} --test-dir ${SCRATCH}/green -R Plain")
expect_end("two stages" "
Skipped tests, each with its stage:
  Code.skips [one]
  Of/Words.skips/extra [one]
  Switched.off [one]

All stages passed.
4 passed, 0 failed, 3 skipped
")

run_with("stage one
counted ${CTEST} --test-dir ${SCRATCH}/red --output-on-failure
stage two")
expect_end("a stage that fails" "
Skipped tests, each with its stage:
  Code.skips [one]
  Of/Words.skips/extra [one]
  Switched.off [one]

Stage \"one\" failed.
2 passed, 3 failed, 3 skipped
")

run_with("stage one
counted ${CTEST} --test-dir ${SCRATCH}/green -R passes")
expect_end("a stage without skipped tests" "

All stages passed.
2 passed, 0 failed, 0 skipped
")

run_with("stage one
counted false")
expect_end("a stage without ctest" "
Stage \"one\" failed.
0 passed, 1 failed, 0 skipped
")
