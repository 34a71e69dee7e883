// Fragments for matrix steps: factors and accumulators of every kind that could show how a tensor
// core adds, each a pure function of its kind and number.
#pragma once

#include <cstdint>
#include <span>

#include "forge/core/names.h"
#include "forge/numerics/matrix_step.h"

namespace forge::testing {

/// What a warp is given for one mma.m16n8k16: D[i][j] = C[i][j] + sum over k of A[i][k] B[j][k].
template <class Half>
struct StepFragment {
  Half a[16][16];
  Half b[8][16];
  float c[16][8];

  /// D[i][j] by the model.
  float step(const numerics::StepModel& model, int i, int j) const {
    return numerics::matrix_step(model, numerics::step_row<Half>(a[i]),
                                 numerics::step_row<Half>(b[j]), c[i][j]);
  }
};
inline constexpr int kStepOutputs = 16 * 8;

enum class FragmentKind : std::uint8_t {
  any_bits,     ///< exponents over the whole range
  moderate,     ///< weights and activations
  cancelling,   ///< products in pairs of opposite signs
  spread,       ///< over thirty binades and more: most are cut
  subnormal,    ///< factors, accumulators, zeros of both signs
  integers,     ///< no bit is cut
  special,      ///< infinities and NaNs among them
  mostly_zero,  ///< factors, whose partners are huge
  tiny,         ///< results are subnormal
  huge,         ///< results overflow
};
constexpr Names<FragmentKind> names_of(FragmentKind) {
  return {"any_bits", "moderate", "cancelling",  "spread", "subnormal",
          "integers", "special",  "mostly_zero", "tiny",   "huge"};
}

/// Half: numerics::BF16 or numerics::F16.
template <class Half>
StepFragment<Half> step_fragment(FragmentKind kind, std::uint64_t number);

}  // namespace forge::testing
