// Every barrier of a kernel is there for a reason: without it the checker reports a fault in one
// run, and plain runs go wrong under some schedules.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "forge/simt/checker.h"
#include "simt/test_kernels.h"

namespace forge::simt {
namespace {

/// A kernel on the memory it needs. The output is a function of the input alone.
class Scene {
 public:
  virtual ~Scene() = default;
  virtual tl::expected<void, KernelFault> run(const LaunchOptions& options) = 0;
  virtual bool output_is_right() const = 0;
  const MemoryMap& memory() const { return memory_; }

 protected:
  template <class T>
  void map(std::vector<T>& buffer, const char* name) {
    memory_.add({reinterpret_cast<std::uintptr_t>(buffer.data()), buffer.size() * sizeof(T), name});
  }
  Machine machine_;

 private:
  MemoryMap memory_;
};

class ScanScene : public Scene {
 public:
  ScanScene() : x_(kBlocks * kThreads), y_(x_.size()) {
    std::iota(x_.begin(), x_.end(), 1.0f);
    map(x_, "x");
    map(y_, "y");
  }
  tl::expected<void, KernelFault> run(const LaunchOptions& options) override {
    y_.assign(y_.size(), 0);
    const ScanArgs args{x_.data(), y_.data()};
    return machine_.run(code("scan", &TestEntries::scan), {{kBlocks, 1, 1}, kThreads}, &args,
                        options);
  }
  bool output_is_right() const override {
    for (int block = 0; block < kBlocks; ++block) {
      const float* x = &x_[static_cast<std::size_t>(block * kThreads)];
      const float total = std::accumulate(x, x + kThreads, 0.0f);  // exact: small integers
      for (int i = 0; i < kThreads; ++i) {
        const auto rotated = [&](int k) { return k == 0 ? total : static_cast<float>(k); };
        const int before = (i + kThreads - 1) % kThreads;
        const int after = (i + 1) % kThreads;
        if (y_[static_cast<std::size_t>(block * kThreads + i)] !=
            rotated(before) + rotated(after)) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  static constexpr int kBlocks = 2;
  static constexpr int kThreads = ScanArgs::kThreads;
  std::vector<float> x_;
  std::vector<float> y_;
};

class TransposeScene : public Scene {
 public:
  TransposeScene() : x_(2 * kTile), y_(x_.size()), pairs_(TransposeArgs::kThreads) {
    std::iota(x_.begin(), x_.end(), 7u);
    map(x_, "x");
    map(y_, "y");
    map(pairs_, "pairs");
  }
  tl::expected<void, KernelFault> run(const LaunchOptions& options) override {
    y_.assign(y_.size(), 0);
    const TransposeArgs args{x_.data(), y_.data(), pairs_.data()};
    return machine_.run(code("transpose", &TestEntries::transpose),
                        {{1, 1, 1}, TransposeArgs::kThreads}, &args, options);
  }
  bool output_is_right() const override {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const std::size_t row = i % kTile / kWarpSize;
      const std::size_t column = i % kWarpSize;
      if (y_[i] != x_[i / kTile * kTile + column * kWarpSize + row]) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kTile = kWarpSize * kWarpSize;
  std::vector<std::uint32_t> x_;
  std::vector<std::uint32_t> y_;
  std::vector<TransposeArgs::Pair> pairs_;
};

const std::vector<std::string> kScanBarriers{
    "before the reversal", "before the scan",     "between read and write of a step",
    "between two steps",   "before the rotation", "before the result"};

void expect_right_results(Scene& scene) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Checker checker(scene.memory());
    LaunchOptions options;
    options.seed = seed;
    if (seed % 5 == 0) options.observer = &checker;
    const auto done = scene.run(options);
    ASSERT_TRUE(done.has_value()) << to_string(done.error());
    ASSERT_TRUE(scene.output_is_right()) << "seed " << seed;
  }
}

/// Returns: of 100 seeds, how many schedules of the plain build show that a barrier is missing.
int schedules_that_show(Scene& scene, const std::string& barrier) {
  int shown = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    LaunchOptions options;
    options.seed = seed;
    options.left_out = line_with(barrier);
    const auto done = scene.run(options);
    if (!done.has_value() || !scene.output_is_right()) ++shown;
  }
  return shown;
}

void expect_checker_to_miss(Scene& scene, const std::string& barrier) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Checker checker(scene.memory());
    LaunchOptions options;
    if (seed > 0) options.seed = seed;
    options.observer = &checker;
    options.left_out = line_with(barrier);
    const auto done = scene.run(options);
    ASSERT_FALSE(done.has_value()) << barrier;
    EXPECT_EQ(done.error().kind, FaultKind::race) << to_string(done.error());
    EXPECT_EQ(done.error().threads.size(), 2u);
  }
}

TEST(MissingBarrier, NoneIsMissing) {
  ScanScene scan;
  expect_right_results(scan);
  TransposeScene transpose;
  expect_right_results(transpose);
}

TEST(MissingBarrier, OfABlockIsReportedInOneCheckedRun) {
  ScanScene scan;
  for (const std::string& barrier : kScanBarriers) expect_checker_to_miss(scan, barrier);
}

TEST(MissingBarrier, OfAWarpIsReportedInOneCheckedRun) {
  TransposeScene transpose;
  expect_checker_to_miss(transpose, "of the transposition");
}

// A race between two threads alone shows in half of the orders: "before the rotation" is one, in
// each of two blocks.
TEST(MissingBarrier, ShowsUnderMostSchedules) {
  ScanScene scan;
  for (const std::string& barrier : kScanBarriers) {
    const int shown = schedules_that_show(scan, barrier);
    RecordProperty(barrier, shown);
    EXPECT_GE(shown, barrier == "before the rotation" ? 60 : 95) << barrier;
  }
  TransposeScene transpose;
  EXPECT_GE(schedules_that_show(transpose, "of the transposition"), 95);
}

}  // namespace
}  // namespace forge::simt
