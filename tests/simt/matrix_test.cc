// The words for matrices: what each lane gets, of every type, in both builds and every order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "forge/simt/checker.h"
#include "gpu/simulated_memory.h"
#include "simt/matrix_kernels.h"

namespace forge::simt {
namespace {

using numerics::BF16;
using numerics::F16;
using Row = std::array<std::uint32_t, 8>;

class MatrixWords : public ::testing::Test {
 protected:
  MatrixWords() {
    std::uint32_t state = 1;
    for (std::uint32_t i = 0; i < 24 * 8; ++i) {
      state = state * 1664525u + 1013904223u;
      // Exponents that bf16 and f16 have about alike: no infinities.
      rows_[i / 8][i % 8] = (state >> 4 & 0xbfffbfffu) | 0x20002000u;
    }
    args_.a = memory_.array("a", std::vector<Row>(rows_.begin(), rows_.begin() + 16))->data();
    args_.b = memory_.array("b", std::vector<Row>(rows_.begin() + 16, rows_.end()))->data();
    args_.bf16 = memory_.array("bf16", std::vector<float>(128));
    args_.f16 = memory_.array("f16", std::vector<float>(128));
    args_.s8 = memory_.array("s8", std::vector<std::int32_t>(128));
    args_.transposed = memory_.array("transposed", std::vector<std::uint16_t>(256));
    args_.absent_lane = -1;
  }

  tl::expected<void, KernelFault> run(const LaunchOptions& options) {
    return machine_.run(code("words", &MatrixEntries::words), {}, &args_, options);
  }

  template <class T>
  std::array<T, 32 / sizeof(T)> row(int number) const {
    return std::bit_cast<std::array<T, 32 / sizeof(T)>>(rows_[static_cast<std::size_t>(number)]);
  }

  template <class Half>
  void expect_steps(const float* found, const numerics::StepModel& model, float c) const {
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 8; ++j) {
        const float expected =
            numerics::matrix_step(model, numerics::step_row<Half>(row<Half>(i)),
                                  numerics::step_row<Half>(row<Half>(16 + j)), c);
        ASSERT_EQ(numerics::bits_of(found[i * 8 + j]), numerics::bits_of(expected))
            << i << " " << j;
      }
    }
  }

  void expect_outputs(const numerics::StepModel& model) const {
    expect_steps<BF16>(args_.bf16, model, 0);
    expect_steps<F16>(args_.f16, model, 1);
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 8; ++j) {
        std::int32_t sum = 7;
        for (std::size_t k = 0; k < 32; ++k) {
          sum += row<std::int8_t>(i)[k] * row<std::int8_t>(16 + j)[k];
        }
        ASSERT_EQ(args_.s8[i * 8 + j], sum) << i << " " << j;
      }
    }
    // Matrix m is rows 8 (m % 2) ... and numbers 8 (m / 2) ... of a.
    for (int m = 0; m < 4; ++m) {
      for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 8; ++j) {
          const auto column = static_cast<std::size_t>(m / 2 * 8 + i);
          ASSERT_EQ(args_.transposed[m * 64 + i * 8 + j],
                    row<std::uint16_t>(m % 2 * 8 + j)[column]);
        }
      }
    }
  }

  gpu::SimulatedMemory memory_;
  std::array<Row, 24> rows_{};
  MatrixWordsArgs args_{};
  Machine machine_;
};

TEST_F(MatrixWords, give_each_lane_its_share_in_both_builds_and_every_order) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    LaunchOptions options;
    if (seed > 0) options.seed = seed;
    Checker checker(memory_.map());
    if (seed % 2 == 1) options.observer = &checker;
    const auto done = run(options);
    ASSERT_TRUE(done.has_value()) << to_string(done.error());
    ASSERT_NO_FATAL_FAILURE(expect_outputs(numerics::kMmaSm90));
  }
}

TEST_F(MatrixWords, add_as_the_device_does) {
  LaunchOptions options;
  options.step_model = numerics::kMmaSm80;
  ASSERT_TRUE(run(options).has_value());
  expect_outputs(numerics::kMmaSm80);
}

TEST_F(MatrixWords, a_lane_that_does_not_come_is_named) {
  args_.absent_lane = 5;
  const auto done = run({});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().kind, FaultKind::missing_lane);
  EXPECT_EQ(done.error().threads, std::vector<int>{5});
  EXPECT_EQ(done.error().sites, std::vector<Site>{matrix_line("the first step")});
  EXPECT_THAT(done.error().detail, ::testing::HasSubstr("in matrix_step at matrix_kernels.cuh"));
}

}  // namespace
}  // namespace forge::simt
