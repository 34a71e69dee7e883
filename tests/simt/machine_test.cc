// The machine runs kernels to the same bits, whatever the order of threads, the number of host
// threads and the build.
#include "forge/simt/machine.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "forge/numerics/canonical.h"
#include "simt/test_kernels.h"

namespace forge::simt {
namespace {

/// Reports to nobody.
class Silent : public Observer {
 public:
  std::unique_ptr<BlockObserver> begin_block(const LaunchShape&, long long) override {
    struct Nobody : BlockObserver {
      void access(const Access&) override {}
    };
    return std::make_unique<Nobody>();
  }
  void end_block(long long, std::unique_ptr<BlockObserver>) override {}
};

std::vector<float> values(std::size_t count) {
  std::vector<float> x(count);
  std::uint32_t state = 1;
  for (float& v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
  }
  return x;
}

/// Runs a kernel in every way there is; `check` says whether its output is right.
template <class Args, class Check>
void run_every_way(const KernelCode& kernel, Index3 grid, const Args& args, const Check& check) {
  for (int host_threads : {1, 3}) {
    Machine machine(host_threads);
    for (int way = 0; way < 24; ++way) {
      Silent silent;
      LaunchOptions options;
      if (way >= 2) options.seed = static_cast<std::uint64_t>(way);
      if (way % 2 == 1) options.observer = &silent;
      SCOPED_TRACE(std::to_string(host_threads) + " host threads, way " + std::to_string(way));
      const auto done = machine.run(kernel, {grid, Args::kThreads}, &args, options);
      ASSERT_TRUE(done.has_value()) << to_string(done.error());
      ASSERT_NO_FATAL_FAILURE(check());
    }
  }
}

std::uint32_t bits(float v) { return numerics::bits_of(v); }

TEST(Machine, ReducesThroughWarpsAndSharedMemoryToTheSameBitsInEveryOrder) {
  constexpr int kRows = 5;
  constexpr int kSize = 1000;
  const std::vector<float> x = values(kRows * kSize);
  std::vector<float> sum(kRows);
  std::vector<float> max(kRows);
  const ReduceArgs args{x.data(), sum.data(), max.data(), kSize};
  run_every_way(code("reduce", &TestEntries::reduce), {kRows, 1, 1}, args, [&] {
    for (int row = 0; row < kRows; ++row) {
      // Thread t adds elements t, t + 128, ...; warps add lanes, then warp 0 the four warps.
      float warps[numerics::kLanes] = {};
      for (int w = 0; w < 4; ++w) {
        float lanes[numerics::kLanes] = {};
        for (int i = 0; i < kSize; ++i) {
          const int thread = i % ReduceArgs::kThreads;
          if (thread / numerics::kLanes == w)
            lanes[thread % numerics::kLanes] += x[row * kSize + i];
        }
        warps[w] = numerics::tree_sum(lanes);
      }
      ASSERT_EQ(bits(sum[row]), bits(numerics::tree_sum(warps))) << "row " << row;
      ASSERT_EQ(bits(max[row]), bits(numerics::max_reference(&x[row * kSize], kSize)));
    }
    sum.assign(kRows, 0);
    max.assign(kRows, 0);
  });
}

TEST(Machine, RunsThreadsThatNeverWait) {
  constexpr int kBlocks = 9;
  const std::vector<float> x = values(kBlocks * AxpyArgs::kThreads * 4);
  std::vector<float> y = x;
  const AxpyArgs args{x.data(), y.data(), 0.5f};
  run_every_way(code("axpy", &TestEntries::axpy), {kBlocks, 1, 1}, args, [&] {
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(bits(y[i]), bits(0.5f * x[i] + x[i]));
    y = x;
  });
}

TEST(Machine, ShufflesValuesOfAnyTypeUpToEightBytes) {
  constexpr int kBlocks = 3;
  constexpr std::size_t kTile = kWarpSize * kWarpSize;
  std::vector<std::uint32_t> x(kBlocks * 2 * kTile);
  std::iota(x.begin(), x.end(), 7u);
  std::vector<std::uint32_t> y(x.size());
  std::vector<TransposeArgs::Pair> pairs(kBlocks * TransposeArgs::kThreads);
  const TransposeArgs args{x.data(), y.data(), pairs.data()};
  run_every_way(code("transpose", &TestEntries::transpose), {kBlocks, 1, 1}, args, [&] {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t row = i % kTile / kWarpSize;
      const std::size_t column = i % kWarpSize;
      ASSERT_EQ(y[i], x[i / kTile * kTile + column * kWarpSize + row]);
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      ASSERT_EQ(pairs[i].first, static_cast<int>(i % TransposeArgs::kThreads) ^ 31);
      ASSERT_EQ(pairs[i].second, 1.0f);
    }
    y.assign(y.size(), 0);
    pairs.assign(pairs.size(), {});
  });
}

TEST(Machine, GivesEachBlockFreshSharedMemoryAndEachDeclarationOneArray) {
  constexpr int kBlocks = 6;
  std::vector<std::uint32_t> at_first(kBlocks * FreshArgs::kThreads);
  std::vector<std::uint32_t> again(at_first.size());
  const FreshArgs args{at_first.data(), again.data()};
  run_every_way(code("fresh", &TestEntries::fresh), {kBlocks, 1, 1}, args, [&] {
    for (std::size_t i = 0; i < again.size(); ++i) {
      ASSERT_EQ(at_first[i], 0xffffffffu);
      ASSERT_EQ(again[i], i);
    }
  });
}

TEST(MachineDeathTest, RefusesShapesAndKernelsThatCannotRun) {
  const KernelCode axpy = code("axpy", &TestEntries::axpy);
  const AxpyArgs args{};
  EXPECT_DEATH((void)Machine().run(axpy, {{1, 1, 1}, 33}, &args), "axpy: threads=33");
  EXPECT_DEATH((void)Machine().run(axpy, {{1, 1, 1}, 1056}, &args), "axpy: threads=1056");
  EXPECT_DEATH((void)Machine().run(axpy, {{1, 0, 1}, 32}, &args), "axpy: grid 1 x 0 x 1");
  EXPECT_DEATH((void)Machine().run({"ghost"}, {{1, 1, 1}, 32}, &args),
               "ghost: this build of the kernel is missing");
  EXPECT_DEATH((void)Machine().run(code("greedy", &TestEntries::greedy), {{1, 1, 1}, 32}, &args),
               "shared array large of 45060 bytes: the block has 49156 of 49152 in 2 arrays");
  EXPECT_DEATH(Machine(0), "host_threads=0");
}

}  // namespace
}  // namespace forge::simt
