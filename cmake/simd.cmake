# forge_use_highway(TARGET): its sources may be compiled once per instruction set by Google Highway,
# which includes each again, from the target's own folder.
function(forge_use_highway target)
  # Kernels keep arrays of vectors in registers, which targets whose vectors have no size at compile
  # time do not allow. Arm runs the NEON version instead, RISC-V the portable one.
  set(disabled HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128 HWY_RVV)
  if(FORGE_SANITIZE)
    # Instrumented kernels take minutes to compile for each of them.
    list(APPEND disabled HWY_SSSE3 HWY_SSE4)
  endif()
  list(JOIN disabled "|" disabled)
  target_compile_definitions(${target} PRIVATE "HWY_DISABLED_TARGETS=(${disabled})")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC hwy::hwy)
endfunction()
