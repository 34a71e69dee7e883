# cmake -DPATTERN=REGEX -P expect_failure.cmake -- COMMAND...: succeeds when COMMAND fails and its
# output matches, so that a command that fails for another reason does not count.
set(command "")
set(seen_separator OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(seen_separator)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(seen_separator ON)
  endif()
endforeach()

execute_process(COMMAND ${command}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "The command was to fail and did not: ${command}\n${output}")
endif()
if(NOT output MATCHES "${PATTERN}")
  message(FATAL_ERROR "The command failed, but its output does not match '${PATTERN}':\n${output}")
endif()
