# cmake -DNVCC= -DHOST_COMPILER= -DARCHITECTURE= -DFLAGS= -DROOT= -DPTX= -P check_ptx.cmake
#
# Compiles numerics_check.cu to PTX and fails unless every kernel holds exactly the operations
# that canonical.h writes, each rounded to nearest, none flushing subnormals or approximate.
if(NOT NVCC)
  message("skipped: no CUDA compiler (nvcc) was found")
  return()
endif()
execute_process(
  COMMAND ${NVCC} -std=c++20 -ccbin ${HOST_COMPILER} -arch=${ARCHITECTURE} ${FLAGS}
    -I${ROOT}/include -ptx ${ROOT}/cuda/checks/numerics_check.cu -o ${PTX}
  COMMAND_ERROR_IS_FATAL ANY)

# Kernel: number of fma.rn, mul.rn, add.rn or sub.rn, div.rn and sqrt.rn instructions on f32.
set(expected
  "canary       0 1 1 0 0"
  "explicit_fma 1 0 0 0 0"
  "divide       0 0 0 1 0"
  "rsqrt        0 0 0 1 1"
  "exp          8 1 5 0 0"
  "log         10 3 2 0 0"
  "silu         8 1 6 1 0"
  "tree_sum     0 0 31 0 0"
  "warp_sum     0 0 5 0 0"
  "uniform      0 1 1 0 0")

file(READ ${PTX} ptx)
string(REPLACE ";" "\n" ptx "${ptx}")
set(errors "")
foreach(banned "\\.ftz" "\\.approx" "\\.full" "(mul|add|sub|fma)\\.f32")
  string(REGEX MATCHALL "[^\n]*${banned}[^\n]*" lines "${ptx}")
  foreach(line IN LISTS lines)
    string(APPEND errors "\n  not exactly rounded: ${line}")
  endforeach()
endforeach()

foreach(row IN LISTS expected)
  separate_arguments(counts UNIX_COMMAND "${row}")
  list(POP_FRONT counts kernel)
  string(FIND "${ptx}" ".entry ${kernel}_kernel(" begin)
  if(begin EQUAL -1)
    string(APPEND errors "\n  no kernel ${kernel}")
    continue()
  endif()
  string(SUBSTRING "${ptx}" ${begin} -1 body)
  string(FIND "${body}" "\n}" end)
  string(SUBSTRING "${body}" 0 ${end} body)
  foreach(operation "fma\\.rn\\.f32" "mul\\.rn\\.f32" "(add|sub)\\.rn\\.f32" "div\\.rn\\.f32" "sqrt\\.rn\\.f32")
    list(POP_FRONT counts count)
    string(REGEX MATCHALL "\t${operation}" found "${body}")
    list(LENGTH found found_count)
    if(NOT found_count EQUAL count)
      string(APPEND errors "\n  ${kernel}: ${found_count} of ${operation}, expected ${count}")
    endif()
  endforeach()
endforeach()
if(errors)
  message(FATAL_ERROR "${PTX} breaks the contract of canonical.h:${errors}")
endif()
