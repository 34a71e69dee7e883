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

/// What a run is made of, and what came of it.
struct Traffic {
  SchedulerConfig config;
  std::uint32_t drafts = 0;
  std::uint32_t common_tokens = 0;  ///< of the 40 tokens of each prompt
  bool mixed_priorities = false;
  std::uint64_t preemptions = 0;
  std::uint64_t swaps = 0;
  std::uint64_t chunks = 0;  ///< slices that end before their prompt does
};

/// A target without a model: one token for each slice that samples, and `drafts` wanted next.
void answer(const StepPlan& plan, std::uint32_t drafts, StepResult& result) {
  result.clear();
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    result.slices.push_back({.seq = slice.seq,
                             .first_token = static_cast<std::uint32_t>(result.tokens.size()),
                             .token_count = slice.samples ? 1u : 0u,
                             .drafts = drafts});
    if (slice.samples) result.tokens.push_back(TokenId{7});
  }
}

void count(const StepPlan& plan, Traffic& traffic) {
  for (const Preemption& preemption : plan.preempted) {
    ++traffic.preemptions;
    traffic.swaps += preemption.mode == PreemptionMode::swap ? 1 : 0;
  }
  for (const Slice& slice : plan.slices) traffic.chunks += slice.samples ? 0 : 1;
}

/// 48 requests that begin alike and go on each in its own way. No prompt comes twice, in whatever
/// wave.
void submit_wave(Scheduler& scheduler, const Traffic& traffic, std::uint32_t wave) {
  for (std::uint32_t i = 0; i < 48; ++i) {
    Request request{.prompt = std::vector<TokenId>(40, TokenId{5}), .max_new_tokens = 64};
    for (std::size_t t = traffic.common_tokens; t < request.prompt.size(); ++t) {
      request.prompt[t] = TokenId{1000 * wave + i};
    }
    if (traffic.mixed_priorities) request.priority = static_cast<Priority>(i % 3);
    ASSERT_TRUE(scheduler.submit(request));
  }
}

/// Allocations in schedule() and commit() over one wave, run to the end.
std::size_t allocations_of_wave(Scheduler& scheduler, Traffic& traffic, std::uint32_t wave) {
  submit_wave(scheduler, traffic, wave);
  StepResult result;
  result.slices.reserve(64);
  result.tokens.reserve(64);
  std::size_t allocations = 0;
  while (scheduler.has_work()) {
    const std::size_t before_schedule = allocation_count;
    const StepPlan& plan = scheduler.schedule();
    allocations += allocation_count - before_schedule;
    count(plan, traffic);
    answer(plan, traffic.drafts, result);
    const std::size_t before_commit = allocation_count;
    scheduler.commit(plan, result);
    allocations += allocation_count - before_commit;
  }
  return allocations;
}

/// Some waves to give every list its size, then three that may not allocate.
void expect_no_allocation_after_the_first_waves(Traffic& traffic) {
  Scheduler scheduler(traffic.config);
  std::uint32_t wave = 0;
  const std::size_t first = allocations_of_wave(scheduler, traffic, wave++);
  EXPECT_GT(first, 0u) << "the counter does not count";
  for (; wave < 5; ++wave) (void)allocations_of_wave(scheduler, traffic, wave);
  for (; wave < 8; ++wave) {
    EXPECT_EQ(allocations_of_wave(scheduler, traffic, wave), 0u) << "in wave " << wave;
  }
}

TEST(SchedulerAllocation, steady_state_steps_do_not_allocate) {
  Traffic traffic;
  expect_no_allocation_after_the_first_waves(traffic);
}

TEST(SchedulerAllocation, steps_that_preempt_and_verify_drafts_do_not_allocate_either) {
  Traffic traffic{
      .config = {.cache = {.num_blocks = 60, .block_size = 16}, .batch = {.max_batch_size = 16}},
      .drafts = 4};
  expect_no_allocation_after_the_first_waves(traffic);
  EXPECT_GT(traffic.preemptions, 0u);
}

TEST(SchedulerAllocation, neither_do_chunks) {
  Traffic traffic{.config = {.batch = {.max_batch_size = 16, .max_batch_tokens = 40},
                             .prefill_chunk_size = 16}};
  expect_no_allocation_after_the_first_waves(traffic);
  EXPECT_GT(traffic.chunks, 48u);
}

/// Parameterised by the kind of index: prefix hits, and evictions once the cache is full.
class AllocationOfPrefixCache : public ::testing::TestWithParam<PrefixCacheKind> {};

TEST_P(AllocationOfPrefixCache, steps_with_prefix_hits_and_evictions_do_not_allocate) {
  Traffic traffic{.config = {.cache = {.num_blocks = 400, .block_size = 4},
                             .batch = {.max_batch_size = 16},
                             .prefix_cache = GetParam()},
                  .common_tokens = 20};
  Scheduler scheduler(traffic.config);
  for (std::uint32_t wave = 0; wave < 5; ++wave) {
    (void)allocations_of_wave(scheduler, traffic, wave);
  }
  const PrefixCacheStatistics before = scheduler.prefix_cache_statistics();
  EXPECT_EQ(allocations_of_wave(scheduler, traffic, 5), 0u);
  const PrefixCacheStatistics after = scheduler.prefix_cache_statistics();
  EXPECT_EQ(after.hit_tokens - before.hit_tokens, 48u * 20);
  EXPECT_GT(after.evictions, before.evictions);
}

INSTANTIATE_TEST_SUITE_P(Kinds, AllocationOfPrefixCache,
                         ::testing::Values(PrefixCacheKind::radix, PrefixCacheKind::hash),
                         [](const auto& kind) {
                           return kind.param == PrefixCacheKind::radix ? "radix" : "hash";
                         });

TEST(SchedulerAllocation, steps_that_swap_sequences_of_all_priorities_do_not_allocate) {
  Traffic traffic{.config = {.cache = {.num_blocks = 100, .block_size = 4, .num_host_blocks = 100},
                             .batch = {.max_batch_size = 16},
                             .watermark_blocks = 4,
                             .priority_head_start = 8,
                             .preemption = PreemptionPolicy::swap},
                  .mixed_priorities = true};
  expect_no_allocation_after_the_first_waves(traffic);
  EXPECT_GT(traffic.swaps, 0u);
}

}  // namespace
}  // namespace forge
