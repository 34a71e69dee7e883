// scaled_norm: RMSNorm taken apart, so that no kernel has to wait for a whole row of it.
//
// A product of a normed row is  W (x w s)  with w the norm's weights and s = 1 / sqrt(mean x^2 +
// eps), a number of the row. So s can be multiplied afterwards:
//
//   h[k] = half_of(x[k] w[k])            the row that the product reads
//   q[g] = sum of squares of x[8 g ..]   a number for each group of eight, in a tree
//   s    = rsqrt(sum of q / K + eps)     a number of the row
//   y[n] = s tensor_product(W[n], h)     an output
//
// h and q need eight neighbours and not the row: whoever computes the residual stream writes them
// in passing. s is a sum of K / 8 numbers, which each block of the product that follows makes for
// itself, while its weights are on their way.
//
// Rounding h before it is scaled errs relatively as much as after it, in bf16 always. In f16 it
// does while |x w| lies between 2^-14 and 65504; the residual stream of a model that was made for
// f16 does.
//
// The relative error of s is below (ceil(K / 256) / 2 + 8) 2^-24. All terms are positive, so it is
// half of the roundings on the way to the mean, 4 of a group, ceil(K / 256) of a lane, 5 of the
// tree, 2 of the mean, and 2 of the root; terms in which these errors multiply are left out.
//
// Source: Zhang, Sennrich, arXiv:1910.07467 (RMSNorm).
//
// Pure, thread-safe.
#pragma once

#include "forge/numerics/canonical.h"

namespace forge::numerics {

/// Components whose squares are one number.
inline constexpr int kSquaresGroup = 8;

/// ((x0^2 + x1^2) + (x2^2 + x3^2)) + ((x4^2 + x5^2) + (x6^2 + x7^2)). x: [kSquaresGroup].
FORGE_HOST_DEVICE inline float group_of_squares(const float* x) {
  const auto pair = [](float a, float b) { return a * a + b * b; };
  return (pair(x[0], x[1]) + pair(x[2], x[3])) + (pair(x[4], x[5]) + pair(x[6], x[7]));
}

/// s of a row whose squares sum up to `sum`: that of its groups by sum_reference (canonical.h).
FORGE_HOST_DEVICE inline float scaled_norm_factor(float sum, int size, float eps) {
  return rsqrt(divide(sum, static_cast<float>(size)) + eps);
}

}  // namespace forge::numerics
