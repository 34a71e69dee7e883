// The tensor core of the GPU that is there, beside the model of matrix_step.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <sstream>
#include <thread>
#include <vector>

#include "cuda/device_numerics.h"
#include "forge/cuda/cuda_device.h"
#include "numerics/step_fragments.h"

namespace forge::testing {
namespace {

using numerics::BF16;
using numerics::bits_of;
using numerics::F16;

/// work(i) for i < count, on all processors.
template <class Work>
void in_parallel(int count, const Work& work) {
  std::atomic<int> next = 0;
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int i = next++; i < count; i = next++) work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <class Half>
std::string text_of(const StepFragment<Half>& fragment, int i, int j) {
  std::ostringstream text;
  text << std::hex << "c " << bits_of(fragment.c[i][j]) << "\na";
  for (const Half a : fragment.a[i]) text << " " << a.bits;
  text << "\nb";
  for (const Half b : fragment.b[j]) text << " " << b.bits;
  return text.str();
}

/// How many outputs of `count` fragments differ from the model's; the first few are reported.
template <class Half>
std::uint64_t differing(FragmentKind kind, std::uint64_t first, int count) {
  static const numerics::StepModel& step = numerics::step_model(compute_capability_major());
  std::vector<StepFragment<Half>> fragments(static_cast<std::size_t>(count));
  in_parallel(count, [&](int f) {
    fragments[static_cast<std::size_t>(f)] =
        step_fragment<Half>(kind, first + static_cast<std::uint64_t>(f));
  });
  const std::vector<float> found = steps_on_device(std::span<const StepFragment<Half>>(fragments));
  std::atomic<std::uint64_t> wrong = 0;
  in_parallel(count, [&](int f) {
    const auto& fragment = fragments[static_cast<std::size_t>(f)];
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 8; ++j) {
        const float d = found[static_cast<std::size_t>(f * kStepOutputs + i * 8 + j)];
        const float model = fragment.step(step, i, j);
        if (bits_of(d) == bits_of(model) || wrong++ > 2) continue;
        ADD_FAILURE() << std::hex << bits_of(d) << ", model " << bits_of(model) << " of\n"
                      << text_of(fragment, i, j);
      }
    }
  });
  return wrong;
}

class TensorCore : public ::testing::TestWithParam<FragmentKind> {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "there is no GPU here";
  }

  /// Of ten kinds and two types: 10^7 fragments in all.
  template <class Half>
  static void expect_the_model() {
    constexpr int kFragments = 500'000;
    constexpr int kBatch = 50'000;
    std::uint64_t wrong = 0;
    for (int first = 0; first < kFragments; first += kBatch) {
      wrong += differing<Half>(GetParam(), static_cast<std::uint64_t>(first), kBatch);
    }
    EXPECT_EQ(wrong, 0u) << "of " << kFragments * kStepOutputs;
  }
};

TEST_P(TensorCore, has_the_bits_of_the_model_for_bf16) { expect_the_model<BF16>(); }
TEST_P(TensorCore, has_the_bits_of_the_model_for_f16) { expect_the_model<F16>(); }

std::vector<FragmentKind> all_kinds() {
  std::vector<FragmentKind> kinds;
  for (const auto name : kNames<FragmentKind>) kinds.push_back(*from_name<FragmentKind>(name));
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(Of, TensorCore, ::testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

}  // namespace
}  // namespace forge::testing
