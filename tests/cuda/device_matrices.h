// The kernels of tests/simt/matrix_kernels.h on a GPU, for tests that compare bits with the
// simulated machine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "simt/matrix_kernels.h"

namespace forge::testing {

/// The product of x [rows][inputs] and w [blocks][kOutputs][inputs]: [rows][blocks][kOutputs].
/// Aborts, naming the call, when the device fails. Requires: a GPU.
std::vector<float> product_on_device(std::span<const numerics::BF16> x,
                                     std::span<const numerics::BF16> w, int rows, int inputs);

struct MatrixWordsOutputs {
  std::array<float, 128> bf16;
  std::array<float, 128> f16;
  std::array<std::int32_t, 128> s8;
  std::array<std::uint16_t, 256> transposed;
};
/// Of the rows [24][8], first those of a, then those of b.
MatrixWordsOutputs words_on_device(const std::array<std::uint32_t, 192>& rows);

}  // namespace forge::testing
