// tensor_product: the products of fast numerics, one output as a chain of tensor-core steps.
//
//   y = c_n    with    c_0 = +0    and    c_{i+1} = matrix_step(c_i, w[16 i ..], x[16 i ..])
//
// over K factors, ascending, zeros beyond K. Weights w are of 16 bits as they are stored; x is
// rounded to their type (half_of). There is one accumulator for an output and nothing is split
// along K, so tiles, warps, and the rows that share a launch change no bit. A step whose products
// are all zeros leaves c as it is, so the number of zeros beyond K does not enter either.
//
// Error, against the exact product of the same w and x, with n steps and S = sum |w[k] x[k]|:
//
//   mma-sm90   n (17 2^-25 + 2^-23) S        mma-sm80   2 n (9 2^-24 + 2^-23) S
//
// A step cuts 16 products and c (of mma-sm80 twice 8 products and c) to multiples of 2^-F of the
// largest of them, which is at most S, and the sum to 24 bits (matrix_step.h); terms in which these
// errors multiply are left out, and so is what underflows. The rounding of x is another 2^-8 of S
// for bf16 and 2^-11 for f16.
//
// Pure, thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "forge/numerics/kv_type.h"
#include "forge/numerics/matrix_step.h"

namespace forge::numerics {

/// x in 16 bits, to nearest, ties to even; what is beyond the largest number of the type becomes
/// that, as in the KV cache. Half: BF16 or F16.
template <class Half>
FORGE_HOST_DEVICE Half half_of(float x) {
  return stored<Half>(x);
}

/// One output. Requires: w and x have the same size.
template <class Half>
float tensor_product(const StepModel& model, std::span<const Half> w, std::span<const Half> x) {
  float sum = 0;
  for (std::size_t k = 0; k < w.size(); k += kStepProducts) {
    const std::size_t count = std::min(kStepProducts, w.size() - k);
    std::array<Half, kStepProducts> a{};
    std::array<Half, kStepProducts> b{};
    std::copy_n(w.begin() + static_cast<std::ptrdiff_t>(k), count, a.begin());
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(k), count, b.begin());
    sum = matrix_step(model, step_row<Half>(a), step_row<Half>(b), sum);
  }
  return sum;
}

/// The factor of S in the bound above, for K = `inputs`.
constexpr double tensor_product_error(const StepModel& model, std::size_t inputs) {
  const std::size_t groups =
      (inputs + kStepProducts - 1) / kStepProducts * kStepProducts / model.group;
  const double cut =
      static_cast<double>(model.group + 1) / static_cast<double>(1 << model.fraction_bits);
  return static_cast<double>(groups) * (cut + 0x1p-23);
}

}  // namespace forge::numerics
