#include "policy_run.h"

#include <gtest/gtest.h>

#include <sstream>

#include "forge/runtime/target_header.h"
#include "forge/trace/replay.h"
#include "null_executor.h"
#include "policy_report.h"

namespace forge::apps {
namespace {

/// So many requests at once, with prompts of 40 to 88 tokens, every other one like the one before.
Workload some_workload(std::uint32_t count) {
  Workload workload;
  for (std::uint32_t i = 0; i < count; ++i) {
    workload.push_back(
        {.prompt_tokens = 40 + 8 * (i / 2 % 7), .new_tokens = 60, .hash_ids = {i / 2}});
  }
  mix_priorities(workload);
  return workload;
}

runtime::TargetOptions null_target() {
  runtime::TargetOptions options;
  options.kind = runtime::TargetKind::null;
  options.scheduler = {.cache = {.num_blocks = 80, .block_size = 4, .num_host_blocks = 60},
                       .batch = {.max_batch_size = 8, .max_batch_tokens = 48},
                       .prefill_chunk_size = 20,
                       .priority_head_start = 4,
                       .preemption = PreemptionPolicy::swap};
  return options;
}

PolicyResult run(const Workload& workload, const runtime::TargetOptions& options,
                 trace::TraceOutput* trace = nullptr) {
  return run_policy({.workload = workload,
                     .options = options,
                     .clock = {.step_us = 100, .token_us = 1},
                     .trace = trace,
                     .progress = {}});
}

TEST(PolicyRun, a_whole_workload_runs_without_a_model) {
  const PolicyResult result = run(some_workload(30), null_target());
  EXPECT_EQ(result.finished, 30u);
  EXPECT_EQ(result.refused, 0u);
  EXPECT_EQ(result.generated_tokens, 30u * 60);
  EXPECT_GT(result.preemptions[static_cast<std::size_t>(PreemptionMode::swap)], 0u);
  EXPECT_GT(result.prefix_cache.hit_tokens, 0u);
  EXPECT_EQ(result.prefix_cache.query_tokens, result.prompt_tokens);
  EXPECT_GT(result.scheduled_sequences, result.steps);
  EXPECT_GT(result.ns_per_scheduled_sequence(), 0);
  EXPECT_LE(result.policy_seconds, result.seconds);
}

TEST(PolicyRun, nobody_is_overtaken_more_often_than_the_wait_queue_promises) {
  const PolicyResult result = run(some_workload(60), null_target());
  EXPECT_GT(result.overtaken_max[0], 0u);
  EXPECT_LE(result.overtaken_max[0], 2u * 4 - 1);
  EXPECT_LE(result.overtaken_max[1], 1u * 4 - 1);
  EXPECT_EQ(result.overtaken_max[2], 0u);
}

TEST(PolicyRun, radix_and_hash_make_the_same_plans) {
  runtime::TargetOptions options = null_target();
  const PolicyResult radix = run(some_workload(30), options);
  options.scheduler.prefix_cache = PrefixCacheKind::hash;
  const PolicyResult hash = run(some_workload(30), options);
  EXPECT_EQ(radix.digest, hash.digest);
  EXPECT_EQ(radix.prefix_cache, hash.prefix_cache);
}

TEST(PolicyRun, drafts_are_accepted_in_part) {
  runtime::TargetOptions options = null_target();
  const PolicyResult without = run(some_workload(10), options);
  options.executor.drafts = 4;
  const PolicyResult with = run(some_workload(10), options);
  EXPECT_EQ(with.generated_tokens, without.generated_tokens);
  EXPECT_LT(with.steps, without.steps);
  EXPECT_GT(with.scheduled_tokens, without.scheduled_tokens) << "some were rejected";
}

TEST(PolicyRun, the_trace_replays_to_the_same_digest) {
  std::stringstream text;
  trace::TraceStream trace(text);
  const PolicyResult result = run(some_workload(30), null_target(), &trace);
  EXPECT_EQ(result.digest, run(some_workload(30), null_target()).digest);
  auto reader = trace::TraceReader::open(text);
  ASSERT_TRUE(reader);
  const auto recorded = runtime::from_trace_header(reader->header());
  ASSERT_TRUE(recorded) << recorded.error();
  const runtime::TargetOptions& options = recorded->options;
  ASSERT_EQ(options.kind, runtime::TargetKind::null);
  NullExecutor executor(options.executor.drafts);
  const auto report =
      replay(*reader, executor,
             static_cast<std::uint32_t>(options.source.builtin.config().vocabulary_size));
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_FALSE(report->difference);
  EXPECT_EQ(report->digest, result.digest);
}

TEST(PolicyRun, a_stopped_run_says_so) {
  const Workload workload = some_workload(3);
  int steps = 0;
  const PolicyResult result = run_policy(
      {.workload = workload, .options = null_target(), .clock = {}, .progress = [&](std::size_t) {
         return ++steps < 5;
       }});
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.steps, 5u);
}

TEST(PolicyReport, the_json_has_the_figures_under_their_names) {
  PolicyResult result;
  result.steps = 10;
  result.scheduled_sequences = 40;
  result.policy_seconds = 1e-6;
  result.preemptions = {3, 4};
  result.overtaken_max = {5, 6, 7};
  result.prefix_cache.query_tokens = 200;
  result.prefix_cache.hit_tokens = 50;
  const nlohmann::json json = to_json(result);
  EXPECT_EQ(json["steps"], 10);
  EXPECT_EQ(json["preemptions"], 7);
  EXPECT_EQ(json["preemptions_swap"], 4);
  EXPECT_EQ(json["prefix_cache"]["query_tokens"], 200);
  EXPECT_EQ(json["prefix_cache"]["hit_tokens"], 50);
  EXPECT_EQ(json["overtaken_max"]["high"], 7);
  EXPECT_NEAR(json["ns_per_scheduled_sequence"], 25.0, 1e-9);
  std::ostringstream text;
  print(result, text);
  EXPECT_NE(text.str().find("25.0 ns per scheduled sequence"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("25.00% of prompt tokens hit (50 of 200)"), std::string::npos);
}

}  // namespace
}  // namespace forge::apps
