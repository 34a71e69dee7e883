// A program of its own, because allocation_counter.cc replaces operator new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "cpu/allocation_counter.h"
#include "executor/driver.h"
#include "forge/cpu/cpu_executor.h"

namespace forge::cpu {
namespace {

using testing::request_of;

/// The same decode step again and again, by hand: eight sequences in tables of 16 blocks.
std::size_t allocations_of_steady_steps(const executor::ExecutorOptions& options,
                                        std::unique_ptr<CpuModel> draft = nullptr) {
  CpuExecutor executor(options, seeded_cpu_model({}, options), std::move(draft));
  StepPlan plan;
  StepResult result;
  for (std::uint32_t seq = 1; seq <= 8; ++seq) {
    Request request = request_of("Hello, my name is", 0.8F, seq);
    request.max_new_tokens = 200;
    executor.begin(SeqId(seq), request);
    const auto first = static_cast<std::uint32_t>(plan.appended_blocks.size());
    for (std::uint32_t block = 0; block < 16; ++block)
      plan.appended_blocks.emplace_back(first + block);
    plan.admitted.push_back({SeqId(seq), 0});
    plan.tables.push_back({SeqId(seq), 0, first, 16});
    plan.slices.push_back({SeqId(seq), 0, 17, 0, true});
  }
  std::size_t before = 0;
  for (int step = 0; step < 40; ++step) {
    if (step == 10) before = testing::allocation_count();  // everything has been seen by then
    if (!executor.execute(plan, result)) std::abort();
    ++plan.step.value;
    plan.admitted.clear();
    plan.tables.clear();
    for (std::size_t i = 0; i < plan.slices.size(); ++i) {
      Slice& slice = plan.slices[i];
      slice.first += slice.count - slice.drafts + result.slices[i].token_count - 1;
      slice.count = 1 + options.drafts;
      slice.drafts = options.drafts;
    }
  }
  return testing::allocation_count() - before;
}

TEST(Allocation, decoding_allocates_nothing_in_steady_state) {
  EXPECT_EQ(allocations_of_steady_steps({.digest_logits = true}), 0U);
}

TEST(Allocation, checking_every_read_allocates_nothing_in_steady_state) {
  EXPECT_EQ(allocations_of_steady_steps({.drafts = 3, .check_kv = true}), 0U);
}

TEST(Allocation, speculation_allocates_nothing_in_steady_state) {
  EXPECT_EQ(allocations_of_steady_steps({.drafts = 3}), 0U);
  const executor::ExecutorOptions options{.drafts = 3, .check_kv = true};
  EXPECT_EQ(allocations_of_steady_steps(options, seeded_cpu_model({}, options)), 0U);
}

}  // namespace
}  // namespace forge::cpu
