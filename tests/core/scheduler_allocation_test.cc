// Counts heap allocations: in steady state a step of the scheduler makes none.
//
// The counting operator new replaces the program's, so this test is a program of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "forge/core/scheduler.h"

namespace {
std::size_t allocation_count = 0;
}  // namespace

// GCC sees malloc behind new and free behind delete, and warns of a mismatch that is none.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
void* operator new(std::size_t size) {
  ++allocation_count;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace forge {
namespace {

/// A target without a model: one token for each slice, and `drafts` wanted next.
void answer(const StepPlan& plan, std::uint32_t drafts, StepResult& result) {
  result.clear();
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    result.slices.push_back({.seq = slice.seq,
                             .first_token = static_cast<std::uint32_t>(result.tokens.size()),
                             .token_count = 1,
                             .drafts = drafts});
    result.tokens.push_back(TokenId{7});
  }
}

struct Traffic {
  SchedulerConfig config;
  std::uint32_t drafts = 0;
  std::uint64_t preemptions = 0;
};

/// Allocations in schedule() and commit() over one wave of 48 requests, run to the end.
std::size_t allocations_of_wave(Scheduler& scheduler, Traffic& traffic) {
  const Request request{.prompt = std::vector<TokenId>(32, TokenId{5}), .max_new_tokens = 64};
  for (int i = 0; i < 48; ++i) EXPECT_TRUE(scheduler.submit(request));
  StepResult result;
  result.slices.reserve(64);
  result.tokens.reserve(64);
  std::size_t allocations = 0;
  while (scheduler.has_work()) {
    const std::size_t before_schedule = allocation_count;
    const StepPlan& plan = scheduler.schedule();
    allocations += allocation_count - before_schedule;
    traffic.preemptions += plan.preempted.size();
    answer(plan, traffic.drafts, result);
    const std::size_t before_commit = allocation_count;
    scheduler.commit(plan, result);
    allocations += allocation_count - before_commit;
  }
  return allocations;
}

void expect_no_allocation_after_the_first_waves(Traffic& traffic) {
  Scheduler scheduler(traffic.config);
  const std::size_t first = allocations_of_wave(scheduler, traffic);
  EXPECT_GT(first, 0u) << "the counter does not count";
  (void)allocations_of_wave(scheduler, traffic);
  EXPECT_EQ(allocations_of_wave(scheduler, traffic), 0u);
}

TEST(SchedulerAllocation, steady_state_steps_do_not_allocate) {
  Traffic traffic;
  expect_no_allocation_after_the_first_waves(traffic);
}

TEST(SchedulerAllocation, steps_that_preempt_and_verify_drafts_do_not_allocate_either) {
  Traffic traffic{.config = {.num_blocks = 60, .block_size = 16, .max_batch_size = 16},
                  .drafts = 4};
  expect_no_allocation_after_the_first_waves(traffic);
  EXPECT_GT(traffic.preemptions, 0u);
}

}  // namespace
}  // namespace forge
