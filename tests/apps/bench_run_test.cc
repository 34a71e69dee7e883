#include "bench_run.h"

#include <gtest/gtest.h>

#include <sstream>

#include "bench_report.h"

namespace forge {
namespace {

TargetOptions small_target() {
  TargetOptions options;
  options.scheduler = {.num_blocks = 24, .block_size = 4, .max_batch_size = 6};
  follow_scheduler(options);
  options.executor.drafts = 3;
  return options;
}

Workload workload_of(std::initializer_list<std::array<std::uint32_t, 3>> rows) {
  Workload workload;
  for (const auto& [arrival_us, prompt_tokens, new_tokens] : rows) {
    workload.push_back(
        {.arrival_us = arrival_us, .prompt_tokens = prompt_tokens, .new_tokens = new_tokens});
  }
  return workload;
}

ModeResult run(BenchMode mode, const Workload& workload, std::ostream* trace = nullptr) {
  const BenchRun bench{.workload = workload,
                       .options = options_of_mode(small_target(), mode),
                       .clock = {.step_us = 100, .token_us = 1},
                       .trace = trace,
                       .progress = {}};
  return run_mode(mode, bench);
}

TEST(BenchRun, all_modes_produce_the_same_tokens) {
  const Workload workload =
      workload_of({{0, 30, 20}, {50, 10, 30}, {60, 40, 25}, {70, 5, 40}, {90000, 8, 8}});
  const std::vector<ModeResult> results{run(BenchMode::sequential, workload),
                                        run(BenchMode::continuous, workload),
                                        run(BenchMode::speculative, workload)};
  EXPECT_EQ(first_disagreement(results), "");
  for (const ModeResult& r : results) {
    EXPECT_EQ(r.finished, 5u);
    EXPECT_EQ(r.generated_tokens, 123u);
    EXPECT_EQ(r.prompt_tokens, 93u);
  }
  EXPECT_EQ(results[0].preemptions, 0u);
  EXPECT_GT(results[1].preemptions, 0u);
  EXPECT_LT(results[2].steps, results[1].steps);
  EXPECT_GT(results[2].drafts_accepted, 0u);
  EXPECT_GE(results[2].virtual_seconds, 0.09) << "the last request arrives then";
}

TEST(BenchRun, same_workload_same_digest) {
  const Workload workload = synthetic_workload(8);
  EXPECT_EQ(run(BenchMode::speculative, workload).digest,
            run(BenchMode::speculative, workload).digest);
}

TEST(BenchRun, prompts_that_begin_alike_are_cached_and_yield_the_same_tokens) {
  Workload workload = workload_of({{0, 40, 8}, {50'000, 40, 8}, {100'000, 33, 8}});
  for (WorkloadItem& item : workload) item.hash_ids = {7};
  const ModeResult warm = run(BenchMode::continuous, workload);
  EXPECT_EQ(warm.prefix_cache.hit_tokens, 39u + 32u);
  EXPECT_EQ(warm.token_digests[0], warm.token_digests[1]);
}

TEST(BenchRun, requests_that_never_fit_are_refused_and_counted) {
  const Workload workload = workload_of({{0, 90, 7}, {0, 90, 6}, {0, 4, 4}});
  const ModeResult result = run(BenchMode::continuous, workload);
  EXPECT_EQ(result.refused, 1u);
  EXPECT_EQ(result.finished, 2u);
}

TEST(BenchRun, a_stopped_run_says_so_and_leaves_a_readable_trace) {
  const Workload workload = synthetic_workload(4);
  std::ostringstream trace;
  int steps = 0;
  const BenchRun bench{.workload = workload,
                       .options = options_of_mode(small_target(), BenchMode::continuous),
                       .clock = {},
                       .trace = &trace,
                       .progress = [&](std::size_t) { return ++steps < 5; }};
  const ModeResult result = run_mode(BenchMode::continuous, bench);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.steps, 5u);
  EXPECT_EQ(trace.str().back(), '\n');
}

TEST(BenchReport, a_disagreement_names_request_and_modes) {
  std::vector<ModeResult> results(2);
  results[1].mode = BenchMode::speculative;
  results[0].token_digests = {1, 2, 3};
  results[1].token_digests = {1, 5, 3};
  EXPECT_EQ(first_disagreement(results),
            "request 1 has other tokens in mode speculative than in mode sequential");
  results[1].interrupted = true;
  EXPECT_EQ(first_disagreement(results), "");
}

}  // namespace
}  // namespace forge
