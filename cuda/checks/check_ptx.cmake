# cmake -DPTX=FILE [-DCOUNTS=FILE] [-DKERNELS=FILE] -P check_ptx.cmake
#
# Fails unless all arithmetic of the PTX is exactly rounded or a step of a tensor core
# (numerics/matrix_step.h), none of it flushes subnormals or approximates, and no array is in local
# memory, where it would go if it could not live in registers.
#   COUNTS   a table of kernels and their operations, which must be those of the PTX
#   KERNELS  forge/gpu/kernels.h: a kernel of each name in its FORGE_FOR_EACH_KERNEL must be there
#   MATRIX   kernels, separated by commas, that multiply on tensor cores: in each there must be steps
#            of both types, loads of matrices and asynchronous copies
#   CODES    those that multiply codes: likewise, with steps of bytes
file(READ ${PTX} ptx)
string(REPLACE ";" "\n" ptx "${ptx}")  # a semicolon would split lists
set(errors "")

# Each operation on floats that occurs, once. Widening an f16 is exact, and so is cutting to an
# integer; what is cut to 32 bits is whole. max is no arithmetic, but takes either zero of two
# with different signs: canonical maxima add +0 to what comes out.
set(exact "(fma|mul|add|sub|div|sqrt|cvt)\\.rn\\.f32|cvt\\.rn\\.f32\\.[su](16|32|64)|cvt\\.rzi\\.(u64|s32)\\.f32|cvt\\.f32\\.f16|cvt\\.rn\\.(bf16x2|f16x2)\\.f32")
set(steps "mma\\.sync\\.aligned\\.m16n8k16\\.row\\.col\\.f32\\.(bf16\\.bf16|f16\\.f16)\\.f32")
set(moves "(ld|st|mov|selp|setp|neg|abs|max)\\..*f32")
string(REGEX MATCHALL "[a-z]+[a-z0-9.:]*\\.(f32|f64|f16|bf16)[a-z0-9.]*" operations "${ptx}")
list(REMOVE_DUPLICATES operations)
foreach(operation IN LISTS operations)
  if(NOT operation MATCHES "^(${exact}|${steps}|${moves})$" OR operation MATCHES "\\.(ftz|approx|full|sat)")
    string(APPEND errors "\n  not exactly rounded: ${operation}")
  endif()
endforeach()
if(NOT operations)
  string(APPEND errors "\n  no operation on floats at all")
endif()
if(ptx MATCHES "\n[ \t]*\\.local[^\n]*")
  string(APPEND errors "\n  local memory: ${CMAKE_MATCH_0}")
endif()

# Kernel: number of fma, mul, add or sub, div and sqrt instructions.
function(forge_check_counts row)
  separate_arguments(counts UNIX_COMMAND "${row}")
  list(POP_FRONT counts kernel)
  string(FIND "${ptx}" ".entry ${kernel}_kernel(" begin)
  if(begin EQUAL -1)
    set(errors "${errors}\n  no kernel ${kernel}" PARENT_SCOPE)
    return()
  endif()
  string(SUBSTRING "${ptx}" ${begin} -1 body)
  string(FIND "${body}" "\n}" end)
  string(SUBSTRING "${body}" 0 ${end} body)
  foreach(operation fma mul "(add|sub)" div sqrt)
    list(POP_FRONT counts count)
    string(REGEX MATCHALL "\t${operation}\\.rn\\.f32" found "${body}")
    list(LENGTH found found_count)
    if(NOT found_count EQUAL count)
      string(APPEND errors "\n  ${kernel}: ${found_count} of ${operation}, expected ${count}")
    endif()
  endforeach()
  set(errors "${errors}" PARENT_SCOPE)
endfunction()

if(COUNTS)
  file(STRINGS ${COUNTS} rows REGEX "^[a-z]")
  foreach(row IN LISTS rows)
    forge_check_counts("${row}")
  endforeach()
endif()

if(KERNELS)
  file(READ ${KERNELS} text)
  string(REGEX MATCHALL "ENTRY\\([a-z0-9_]+, [A-Za-z0-9]+Args\\)" entries "${text}")
  if(NOT entries)
    string(APPEND errors "\n  ${KERNELS} has no FORGE_FOR_EACH_KERNEL")
  endif()
  foreach(entry IN LISTS entries)
    string(REGEX REPLACE "ENTRY\\(([a-z0-9_]+),.*" "\\1" name "${entry}")
    if(NOT ptx MATCHES "\\.entry _ZN5forge7kernels4cuda[0-9]+${name}E")
      string(APPEND errors "\n  no kernel ${name}")
    endif()
  endforeach()
endif()

# forge_check_words(KERNELS WORDS ...): kernels, separated by commas, have each of the words.
function(forge_check_words kernels)
  string(REPLACE "," ";" kernels "${kernels}")
  foreach(kernel IN LISTS kernels)
    string(REGEX MATCH "\\.entry _ZN5forge7kernels4cuda[0-9]+${kernel}E" entry "${ptx}")
    string(FIND "${ptx}" "${entry}" begin)
    string(SUBSTRING "${ptx}" ${begin} -1 body)
    string(FIND "${body}" "\n}" end)
    string(SUBSTRING "${body}" 0 ${end} body)
    foreach(word IN LISTS ARGN)
      string(FIND "${body}" "${word}" found)
      if(NOT entry OR found EQUAL -1)
        string(APPEND errors "\n  ${kernel} has no ${word}")
      endif()
    endforeach()
  endforeach()
  set(errors "${errors}" PARENT_SCOPE)
endfunction()

set(moves ldmatrix.sync.aligned.m8n8.x4.shared.b16 cp.async.cg.shared.global)
forge_check_words("${MATRIX}" mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ${moves})
forge_check_words("${CODES}" mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 ${moves})

if(errors)
  message(FATAL_ERROR "${PTX} breaks the contract of canonical.h:${errors}")
endif()
