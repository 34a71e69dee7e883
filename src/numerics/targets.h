// Which instruction sets the SIMD sources are compiled for; include before Highway.
//
// Kernels keep arrays of vectors in registers, which targets whose vectors have no size at compile
// time (SVE, RISC-V V) do not allow. Arm runs the NEON version, RISC-V the portable one.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
