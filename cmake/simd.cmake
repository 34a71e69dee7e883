# forge_use_highway(TARGET): its sources are compiled once per instruction set by Google Highway, which
# includes each again, from the target's own folder, and chooses among them when the program runs.
#
# With FORGE_INSTRUCTION_SETS=native that is only the best one of this machine and the one that every
# machine of its kind has: quick to build, and no slower here.
set(FORGE_INSTRUCTION_SETS all CACHE STRING "Instruction sets that kernels are compiled for: all or native")
set_property(CACHE FORGE_INSTRUCTION_SETS PROPERTY STRINGS all native)
if(NOT FORGE_INSTRUCTION_SETS MATCHES "^(all|native)$")
  message(FATAL_ERROR
    "FORGE_INSTRUCTION_SETS is '${FORGE_INSTRUCTION_SETS}'; it may be all or native")
endif()

# Kernels keep arrays of vectors in registers, which targets whose vectors have no size at compile
# time do not allow. Arm runs the NEON version instead, RISC-V the portable one. A PC that has SSSE3 and
# not SSE4 is of 2006 or 2007, and runs the portable one, too.
set(disabled HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128 HWY_RVV HWY_SSSE3)
if(FORGE_SANITIZE)
  list(APPEND disabled HWY_SSE4)  # instrumented kernels take minutes to compile
endif()
list(JOIN disabled "|" disabled)
set(FORGE_DISABLED_TARGETS "(${disabled})")

if(FORGE_INSTRUCTION_SETS STREQUAL "native" AND NOT CMAKE_CROSSCOMPILING)
  try_run(ran compiled ${CMAKE_BINARY_DIR}/instruction_sets
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/instruction_sets.cc
    COMPILE_DEFINITIONS -DHWY_DISABLED_TARGETS=${FORGE_DISABLED_TARGETS}
    LINK_LIBRARIES hwy::hwy CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    COMPILE_OUTPUT_VARIABLE compile_output RUN_OUTPUT_VARIABLE others)
  if(NOT compiled OR NOT ran EQUAL 0)
    message(FATAL_ERROR "cmake/instruction_sets.cc does not run here: ${compile_output} ${others}")
  endif()
  set(FORGE_DISABLED_TARGETS "(${disabled}|${others})")
endif()

# Linked after forge_flags, whose -fsanitize would turn these checks on again.
add_library(forge_simd_flags INTERFACE)
if(FORGE_SANITIZE)
  # AddressSanitizer follows pointers to what they read; with these, kernels take the compiler four
  # times as long.
  target_compile_options(forge_simd_flags INTERFACE
    -fno-sanitize=pointer-overflow,null,alignment,object-size)
endif()

function(forge_use_highway target)
  target_compile_definitions(${target} PRIVATE "HWY_DISABLED_TARGETS=${FORGE_DISABLED_TARGETS}")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC hwy::hwy PRIVATE $<BUILD_INTERFACE:forge_simd_flags>)
endfunction()
