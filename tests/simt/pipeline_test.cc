// A product whose weights come through a ring of asynchronous copies, and what becomes of it when a
// part of the ring's machinery is left out: who notices, and at which line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "forge/simt/checker.h"
#include "forge/simt/traffic.h"
#include "gpu/simulated_memory.h"
#include "simt/matrix_kernels.h"

namespace forge::simt {
namespace {

using numerics::BF16;

constexpr int kBlocks = 2;
constexpr int kOutputs = kBlocks * ProductArgs::kOutputs;

std::vector<BF16> numbers(int count, std::uint32_t state) {
  std::vector<BF16> values(static_cast<std::size_t>(count));
  for (BF16& value : values) {
    state = state * 1664525u + 1013904223u;
    value = numerics::to_bf16(static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F);
  }
  return values;
}

/// The product of a size, and its definition: steps over ascending inputs, zeros beyond them.
class Product {
 public:
  Product(int rows, int inputs, Omission omission = Omission::nothing)
      : x_(numbers(rows * inputs, 1)), w_(numbers(kOutputs * inputs, 2)) {
    args_ = {.x = memory_.array("x", x_),
             .w = memory_.array("w", w_),
             .y = memory_.array("y", std::vector<float>(static_cast<std::size_t>(rows * kOutputs))),
             .rows = rows,
             .inputs = inputs,
             .omission = omission};
  }

  tl::expected<void, KernelFault> run(const LaunchOptions& options) {
    std::fill_n(args_.y, args_.rows * kOutputs, 0.0F);
    LaunchShape shape{.grid = {kBlocks, 1, 1}, .threads = ProductArgs::kThreads};
    shape.shared_bytes = ProductArgs::kSharedBytes;
    return machine_.run(code("product", &MatrixEntries::product), shape, &args_, options);
  }

  std::optional<KernelFault> checked(std::optional<Site> left_out = {}) {
    Checker checker(memory_.map());
    const auto done = run({.observer = &checker, .left_out = left_out});
    if (done) return std::nullopt;
    return done.error();
  }

  bool has_the_bits() const {
    for (int m = 0; m < args_.rows; ++m) {
      for (int n = 0; n < kOutputs; ++n) {
        if (numerics::bits_of(args_.y[m * kOutputs + n]) != numerics::bits_of(defined(m, n))) {
          return false;
        }
      }
    }
    return true;
  }

  /// Wavefronts of shared memory, over as many as there would be without conflicts.
  double conflicts() {
    TrafficCounter counter({.l1_bytes = 1 << 16, .l2_bytes = 1 << 20});
    EXPECT_TRUE(run({.observer = &counter}));
    double needed = 0;
    double least = 0;
    for (const LineTraffic& line : counter.result().lines) {
      needed += static_cast<double>(line.wavefronts);
      least += static_cast<double>(line.wavefronts_least);
    }
    return needed / least;
  }

 private:
  numerics::StepRow factors(const std::vector<BF16>& of, int row, int first) const {
    std::array<BF16, 16> values{};
    const int count = std::min(16, args_.inputs - first);
    std::copy_n(of.begin() + row * args_.inputs + first, count, values.begin());
    return numerics::step_row<BF16>(values);
  }
  float defined(int m, int n) const {
    float sum = 0;
    for (int k = 0; k < args_.inputs; k += 16) {
      sum = numerics::matrix_step(numerics::kMmaSm90, factors(x_, m, k), factors(w_, n, k), sum);
    }
    return sum;
  }

  std::vector<BF16> x_;
  std::vector<BF16> w_;
  gpu::SimulatedMemory memory_;
  ProductArgs args_{};
  Machine machine_;
};

/// Two turns of the ring and a tail.
constexpr int kInputs = 2 * ProductArgs::kStages * ProductArgs::kStageInputs + 24;

TEST(Pipeline, a_product_has_the_bits_of_its_definition_whenever_copies_arrive) {
  for (const int rows : {1, 8, 9, 16}) {
    for (const int inputs : {8, 16, 32, 40, 96, kInputs}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << inputs << " inputs");
      Product product(rows, inputs);
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        ASSERT_TRUE(product.run(seed == 0 ? LaunchOptions{} : LaunchOptions{.seed = seed}));
        ASSERT_TRUE(product.has_the_bits());
      }
      const auto fault = product.checked();
      ASSERT_FALSE(fault.has_value()) << to_string(*fault);
      ASSERT_TRUE(product.has_the_bits());
    }
  }
}

TEST(Pipeline, its_rows_are_spread_over_the_banks) {
  EXPECT_EQ(Product(16, kInputs).conflicts(), 1.0);
}

/// What catches an omission.
struct Catch {
  Omission omission;
  const char* name;
  std::optional<FaultKind> fault;  ///< of the checker, and
  const char* line;                ///< where it says that it happened
  bool bits = false;               ///< are others, in some order; not tried out of bounds
  bool conflicts = false;          ///< more than 5% of the wavefronts
};

constexpr Catch kCatches[] = {
    {Omission::wait, "wait", FaultKind::pending_copy, "rows of w", true},
    {Omission::last_wait, "last_wait", FaultKind::pending_copy, "copy of a stage"},
    {Omission::barrier, "barrier", FaultKind::race, "copy of a stage", true},
    {Omission::commit, "commit", FaultKind::pending_copy, "rows of w", true},
    {Omission::zero_fill, "zero_fill", FaultKind::out_of_bounds, "copy of a stage"},
    {Omission::swizzle_of_write, "swizzle_of_write", std::nullopt, "", true},
    {Omission::swizzle_of_read, "swizzle_of_read", std::nullopt, "", true, true},
    {Omission::swizzle, "swizzle", std::nullopt, "", false, true},
    {Omission::stage, "stage", FaultKind::pending_copy, "rows of w", true},
};

class PlantedPipeline : public ::testing::TestWithParam<Catch> {};

TEST_P(PlantedPipeline, is_caught) {
  const Catch& by = GetParam();
  Product product(13, kInputs, by.omission);
  const auto fault = product.checked();
  ASSERT_EQ(fault.has_value(), by.fault.has_value()) << (fault ? to_string(*fault) : "");
  if (fault.has_value()) {
    EXPECT_EQ(fault->kind, *by.fault) << to_string(*fault);
    EXPECT_EQ(fault->sites.back(), matrix_line(by.line)) << to_string(*fault);
  }
  if (by.fault == FaultKind::out_of_bounds) return;  // must not run unchecked
  bool wrong = false;
  for (std::uint64_t seed = 0; seed < 20 && !wrong; ++seed) {
    ASSERT_TRUE(product.run(seed == 0 ? LaunchOptions{} : LaunchOptions{.seed = seed}));
    wrong = !product.has_the_bits();
  }
  EXPECT_EQ(wrong, by.bits);
  EXPECT_EQ(product.conflicts() > 1.05, by.conflicts);
}

INSTANTIATE_TEST_SUITE_P(Without, PlantedPipeline, ::testing::ValuesIn(kCatches),
                         [](const auto& instance) { return instance.param.name; });

/// By its line, in the kernel as it is. Zeros that are not written are no copy at all.
TEST(Pipeline, a_word_can_also_be_left_out_of_a_launch) {
  const auto fault_without = [](const char* line) {
    const auto fault = Product(13, kInputs).checked(matrix_line(line));
    EXPECT_TRUE(fault.has_value()) << line;
    return fault.value_or(KernelFault());
  };
  EXPECT_EQ(fault_without("a wait").kind, FaultKind::pending_copy);
  EXPECT_EQ(fault_without("a commit").kind, FaultKind::pending_copy);
  const KernelFault fault = fault_without("copy of a stage");
  EXPECT_EQ(fault.kind, FaultKind::uninitialised);
  EXPECT_EQ(fault.sites[0], matrix_line("rows of x"));
}

TEST(Pipeline, a_copy_that_its_thread_leaves_on_its_way_is_named) {
  const auto fault = Product(16, kInputs, Omission::last_wait).checked();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->sites, std::vector{matrix_line("copy of a stage")});
  EXPECT_THAT(fault->detail, testing::HasSubstr("of shared array 'ring'"));
  EXPECT_THAT(fault->detail, testing::HasSubstr("has returned and not waited for it"));
}

TEST(Pipeline, a_copy_that_is_on_its_way_is_named_with_both_lines) {
  const auto fault = Product(16, kInputs, Omission::wait).checked();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->sites[0], matrix_line("copy of a stage"));
  EXPECT_THAT(fault->detail, testing::HasSubstr("a copy is on its way, then read of"));
  EXPECT_THAT(fault->detail, testing::HasSubstr("of shared array 'ring'"));
  EXPECT_THAT(fault->detail, testing::HasSubstr("has not waited for it"));
}

}  // namespace
}  // namespace forge::simt
