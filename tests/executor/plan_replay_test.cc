// The plans of a run on the CPU, executed again elsewhere: step by step the same result, logits
// included, for any order of threads, with and without graphs.
//
// The run has everything that a plan can have: prompts in chunks, prefixes found cached, shared
// blocks and copies on write, preemptions by recomputing and by swapping, and drafts.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "executor/driver.h"
#include "forge/core/scheduler.h"

namespace forge::executor {
namespace {

using testing::MakeTarget;
using testing::plain_sim;
using testing::request_of;
using testing::shuffled_sim;
using testing::sim_target;

/// What a target was told and what it said.
struct RecordedRun {
  ExecutorOptions options;
  struct Step {
    std::vector<std::pair<SeqId, Request>> begun;  // before it
    StepPlan plan;
    StepResult result;
  };
  std::vector<Step> steps;
};

SchedulerConfig config_of(PreemptionPolicy preemption) {
  return {.cache = {.num_blocks = 20, .block_size = 4, .num_host_blocks = 16},
          .batch = {.max_batch_size = 5, .max_batch_tokens = 24},
          .prefill_chunk_size = 7,
          .preemption = preemption};
}

/// Requests that begin alike, one of whole blocks twice among them, of both temperatures.
std::vector<Request> some_requests() {
  std::vector<Request> requests;
  for (const char* prompt : {"the cat sat on a mat", "the cat ran", "the dog", "a",
                             "the cat sat on it", "the cat sat on a mat"}) {
    const auto index = static_cast<std::uint32_t>(requests.size());
    requests.push_back(request_of(prompt, index % 2 == 0 ? 0.8F : 0.0F, index));
    requests.back().max_new_tokens = 14 + index;
  }
  return requests;
}

RecordedRun record(PreemptionPolicy preemption, std::uint32_t drafts) {
  const SchedulerConfig config = config_of(preemption);
  RecordedRun run{.options = {.cache = config.cache,
                              .batch = config.batch,
                              .drafts = drafts,
                              .digest_logits = true,
                              .check_kv = true},
                  .steps = {}};
  const auto cpu = testing::cpu_target()(run.options);
  Scheduler scheduler(config);
  const std::vector<Request> requests = some_requests();
  std::size_t submitted = 0;
  while (submitted < requests.size() || scheduler.has_work()) {
    RecordedRun::Step step;
    if (submitted < requests.size()) {
      const SeqId seq = scheduler.submit(requests[submitted]).value();
      cpu->begin(seq, requests[submitted]);
      step.begun.emplace_back(seq, requests[submitted++]);
    }
    step.plan = scheduler.schedule();
    EXPECT_TRUE(cpu->execute(step.plan, step.result).has_value());
    scheduler.commit(step.plan, step.result);
    run.steps.push_back(std::move(step));
  }
  return run;
}

void expect_equal_results(const RecordedRun& run, const MakeTarget& make) {
  const auto target = make(run.options);
  StepResult result;
  for (const RecordedRun::Step& step : run.steps) {
    for (const auto& [seq, request] : step.begun) target->begin(seq, request);
    const auto done = target->execute(step.plan, result);
    ASSERT_TRUE(done.has_value()) << done.error().message;
    ASSERT_EQ(result, step.result) << "step " << step.plan.step.value;
  }
}

class PlanReplay : public ::testing::Test {
 protected:
  // Computed once: the CPU's answers.
  static const RecordedRun& swapping() {
    static const RecordedRun run = record(PreemptionPolicy::swap, 0);
    return run;
  }
  static const RecordedRun& drafting() {
    static const RecordedRun run = record(PreemptionPolicy::recompute, 3);
    return run;
  }
};

TEST_F(PlanReplay, the_runs_have_everything_that_a_plan_can_have) {
  std::size_t out = 0, in = 0, within = 0, cached = 0, chunks = 0, recomputed = 0, drafts = 0;
  for (const RecordedRun* run : {&swapping(), &drafting()}) {
    for (const RecordedRun::Step& step : run->steps) {
      for (const BlockCopy& copy : step.plan.copies) {
        out += copy.kind == CopyKind::swap_out ? 1 : 0;
        in += copy.kind == CopyKind::swap_in ? 1 : 0;
        within += copy.kind == CopyKind::within ? 1 : 0;
      }
      for (const Preemption& p : step.plan.preempted) {
        recomputed += p.mode == PreemptionMode::recompute ? 1 : 0;
      }
      for (const Admission& admission : step.plan.admitted) cached += admission.cached_tokens;
      for (const Slice& slice : step.plan.slices) {
        chunks += slice.samples ? 0 : 1;
        drafts += slice.drafts;
      }
    }
  }
  EXPECT_GT(out, 0U);
  EXPECT_GT(in, 0U);
  EXPECT_GT(within, 0U);
  EXPECT_GT(cached, 0U);
  EXPECT_GT(chunks, 0U);
  EXPECT_GT(recomputed, 0U);
  EXPECT_GT(drafts, 0U);
}

TEST_F(PlanReplay, every_step_has_the_same_result_for_any_order_of_threads) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    for (const bool graphs : {true, false}) {
      SCOPED_TRACE("schedule seed " + std::to_string(seed) + (graphs ? ", graphs" : ""));
      expect_equal_results(swapping(), sim_target(shuffled_sim(seed), {.graphs = graphs}));
      expect_equal_results(drafting(), sim_target(shuffled_sim(seed), {.graphs = graphs}));
    }
  }
}

TEST_F(PlanReplay, every_step_has_the_same_result_under_the_checker) {
  // Bounds, shared memory that nobody has written, races, barriers: none in a whole run.
  sim::SimOptions checked = plain_sim();
  checked.mode = sim::SimMode::checked;
  checked.host_threads = 2;
  expect_equal_results(drafting(), sim_target(checked));
}

TEST_F(PlanReplay, every_step_has_the_same_result_on_a_gpu) {
  const std::string why = testing::missing(testing::TargetKind::cuda);
  if (!why.empty()) GTEST_SKIP() << why;
  expect_equal_results(swapping(), testing::target_of(testing::TargetKind::cuda));
  expect_equal_results(drafting(), testing::target_of(testing::TargetKind::cuda));
}

}  // namespace
}  // namespace forge::executor
