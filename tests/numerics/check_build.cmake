# cmake -DCOMPILER= -DFLAGS= -DSOURCES= -DINCLUDE= -DPROGRAM= -DEXPECTED= -P check_build.cmake: builds
# PROGRAM from SOURCES, runs it, and fails unless it prints EXPECTED.
execute_process(
  COMMAND ${COMPILER} -std=c++20 ${FLAGS} -I${INCLUDE} ${SOURCES} -o ${PROGRAM}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(output MATCHES "no fma instruction")
  message("skipped: this processor cannot fuse, so there is nothing to see")
elseif(NOT output STREQUAL EXPECTED)
  message(FATAL_ERROR "${COMPILER} ${FLAGS}: printed\n${output}expected\n${EXPECTED}")
endif()
