// The words for matrices and asynchronous copies on a real GPU: the bits of the simulated machine.
#include <gtest/gtest.h>

#include <vector>

#include "cuda/device_matrices.h"
#include "forge/cuda/cuda_device.h"

namespace forge::testing {
namespace {

using numerics::BF16;

std::uint32_t next(std::uint32_t& state) { return state = state * 1664525u + 1013904223u; }

class MatricesOnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "there is no GPU here";
  }
};

TEST_F(MatricesOnDevice, a_product_through_a_ring_of_copies_has_the_bits_of_the_simulated_one) {
  for (const int rows : {1, 8, 9, 16}) {
    for (const int inputs : {8, 32, 40, 96, 216, 4096}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows, " << inputs << " inputs");
      constexpr int kOutputs = 2 * simt::ProductArgs::kOutputs;
      std::uint32_t state = 1;
      const auto numbers = [&](int count) {
        std::vector<BF16> values(static_cast<std::size_t>(count));
        for (BF16& value : values) {
          value = numerics::to_bf16(static_cast<float>(next(state) >> 8) * 0x1p-23F - 1);
        }
        return values;
      };
      const std::vector<BF16> x = numbers(rows * inputs);
      const std::vector<BF16> w = numbers(kOutputs * inputs);
      std::vector<float> simulated(static_cast<std::size_t>(rows * kOutputs));
      const simt::ProductArgs args{.x = x.data(),
                                   .w = w.data(),
                                   .y = simulated.data(),
                                   .rows = rows,
                                   .inputs = inputs,
                                   .omission = simt::Omission::nothing};
      const simt::LaunchShape shape{.grid = {2, 1, 1},
                                    .threads = simt::ProductArgs::kThreads,
                                    .shared_bytes = simt::ProductArgs::kSharedBytes};
      ASSERT_TRUE(
          simt::Machine().run(code("product", &simt::MatrixEntries::product), shape, &args));
      const std::vector<float> found = product_on_device(x, w, rows, inputs);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(numerics::bits_of(found[i]), numerics::bits_of(simulated[i])) << i;
      }
    }
  }
}

TEST_F(MatricesOnDevice, words_give_each_lane_what_the_simulated_ones_do) {
  std::array<std::uint32_t, 192> rows{};
  std::uint32_t state = 1;
  for (std::uint32_t& word : rows) word = (next(state) >> 4 & 0xbfffbfffu) | 0x20002000u;
  MatrixWordsOutputs simulated{};
  const simt::MatrixWordsArgs args{.a = rows.data(),
                                   .b = rows.data() + 128,
                                   .bf16 = simulated.bf16.data(),
                                   .f16 = simulated.f16.data(),
                                   .s8 = simulated.s8.data(),
                                   .transposed = simulated.transposed.data(),
                                   .absent_lane = -1};
  ASSERT_TRUE(simt::Machine().run(code("words", &simt::MatrixEntries::words), {}, &args));
  const MatrixWordsOutputs found = words_on_device(rows);
  EXPECT_EQ(found.bf16, simulated.bf16);
  EXPECT_EQ(found.f16, simulated.f16);
  EXPECT_EQ(found.s8, simulated.s8);
  EXPECT_EQ(found.transposed, simulated.transposed);
}

}  // namespace
}  // namespace forge::testing
