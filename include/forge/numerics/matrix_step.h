// matrix_step: what one step of a tensor core adds to an accumulator, to the bit.
//
//   d = c + a[0] b[0] + a[1] b[1] + ... + a[15] b[15]        a, b: bf16 or f16      c, d: f32
//
// This is one output of the instruction mma.m16n8k16. It is no chain of roundings: a tensor core
// adds the products of a group and the accumulator at once, in fixed point.
//
//   1. Products are exact. The exponent of a product is the sum of its factors' exponents: its
//      significand lies in [1, 4) and is not normalised.
//   2. e is the largest exponent among those products, and the accumulator, that are not 0; it is
//      at least -133.
//   3. Each of them is cut to a multiple of 2^(e - F), towards zero.
//   4. Their sum is exact, and is cut to f32, towards zero.
//
//   model      generation                      groups of a step   F
//   mma-sm80   sm_80, sm_86, sm_89             two of 8           24
//   mma-sm90   sm_90, sm_100, sm_120           one of 16          25
//
// So the order of the products within a group changes nothing, the order of groups does: what is
// defined by a fold of steps, K ascending, has the same bits in tiles of every size.
//
// Source: Xie et al., MMA-Sim: bit-accurate reference model of tensor cores and matrix cores, 2025
// (arXiv:2511.10909), after Fasi et al., Numerical behavior of NVIDIA tensor cores, PeerJ Computer
// Science 7:e330, 2021. What 2. says of 0 and of the smallest exponent, and that a result of 0 is
// +0, MMA-Sim's code does not have: an H200 has it, and mma-sm80, which no GPU here has been
// compared with, is taken to have it too. tests/cuda compares, bench/results says with what.
//
// Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "forge/numerics/half.h"

namespace forge::numerics {

/// Products of a step, K of mma.m16n8k16.
inline constexpr std::size_t kStepProducts = 16;

/// How a generation of tensor cores adds.
struct StepModel {
  std::string_view name;
  std::size_t group;  ///< products that are added at once: divides kStepProducts
  int fraction_bits;  ///< F
  friend bool operator==(const StepModel&, const StepModel&) = default;
};
inline constexpr StepModel kMmaSm80{"mma-sm80", 8, 24};
inline constexpr StepModel kMmaSm90{"mma-sm90", 16, 25};

/// Of the compute capability `major`. Requires: major >= 8.
constexpr const StepModel& step_model(int major) { return major < 9 ? kMmaSm80 : kMmaSm90; }

namespace detail {

/// value 2^unit. `exponent` is what it is aligned by: where the leading 1 of a normal number is.
struct Term {
  std::int64_t value;
  int unit;
  int exponent;
};

}  // namespace detail

/// Factors of a step, taken apart once for all outputs that they go into: a row of A or of B.
struct StepRow {
  detail::Term terms[kStepProducts];
  float values[kStepProducts];
  bool finite;
};

/// Half: BF16 or F16.
template <class Half>
StepRow step_row(std::span<const Half, kStepProducts> factors);

/// One output of a step: c + sum of a[k] b[k]. A sum of 0 is +0. With a NaN, an infinity times 0,
/// or infinities of both signs it is the NaN 0x7fffffff, whatever NaN that was.
float matrix_step(const StepModel& model, const StepRow& a, const StepRow& b, float c);

}  // namespace forge::numerics
