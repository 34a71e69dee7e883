// Numerics: which bits a product has where the fastest instructions of a machine round otherwise
// than its definition.
//
//   canonical   those of multiply_reference (product.h), on every machine
//   native      those of the fastest instructions that this machine has
//
// The two differ in one place: products of bf16, on a machine with an instruction for pairs of bf16
// (vdpbf16ps, AVX512-BF16). It rounds its two products otherwise than two fused operations, and
// takes subnormal operands and results for zeros. Everything else Forge computes on the CPU is
// canonical anyway: floats are fused in a fixed order, sums of codes are exact.
//
//   numerics    machine                     products of bf16     of all other kinds
//   canonical   any                         as defined           as defined
//   native      without AVX512-BF16         as defined           as defined
//   native      with AVX512-BF16            by vdpbf16ps         as defined
//
// canonical is for runs whose bits another machine must be able to reproduce. It costs where
// products are bound by arithmetic, in prompts: two instructions do the work of one. A product of
// one row waits for memory either way.
//
// Weights are packed for one of the two (linear_weights.h), since a model keeps it all its life.
#pragma once

#include <cstdint>

#include "forge/core/names.h"

namespace forge::linear {

enum class Numerics : std::uint8_t { canonical, native };
constexpr Names<Numerics> names_of(Numerics) { return {"canonical", "native"}; }

}  // namespace forge::linear
