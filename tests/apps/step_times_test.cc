// What steps had to do, how long they took, and the model that is fitted to that.
#include <gmock/gmock.h>

#include <sstream>

#include "apps/synthetic_recording.h"
#include "bench_run.h"
#include "forge/trace/trace_reader.h"
#include "step_recording.h"
#include "step_time_model.h"
#include "step_work.h"

namespace forge::apps {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using testing::synthetic_recording;

TEST(StepWork, rows_keys_and_logits_are_counted_from_the_plan) {
  StepPlan plan;
  EXPECT_EQ(work_of(plan), std::nullopt);
  plan.slices = {{.seq = SeqId(1), .first = 10, .count = 3, .drafts = 2, .samples = true},
                 {.seq = SeqId(2), .first = 4, .count = 2},
                 {.seq = SeqId(3), .first = 0, .count = 3, .samples = true}};
  plan.decodes = 1;
  plan.copies.resize(2);
  const StepWork expected{.decodes = 1,
                          .drafts = 2,
                          .prompt_rows = 5,
                          .decode_keys = 11 + 12 + 13,
                          .prompt_keys = 5 + 6 + 1 + 2 + 3,
                          .logit_rows = 3 + 1,
                          .blocks_copied = 2};
  EXPECT_EQ(work_of(plan), expected);
  EXPECT_EQ(work_of(plan)->kind(), StepKind::mixed);
  plan.decodes = 0;
  EXPECT_EQ(work_of(plan)->kind(), StepKind::prefill);
  plan.decodes = 3;
  EXPECT_EQ(work_of(plan)->kind(), StepKind::decode);
}

/// A run with preemptions, and with drafts if the mode says so.
ModeResult timed_run(BenchMode mode, const Workload& workload, runtime::TargetKind kind,
                     StepRecording& times, trace::TraceOutput* trace = nullptr) {
  static const auto model = runtime::LoadedModel::open({}).value();
  runtime::TargetOptions options;
  options.kind = kind;
  options.scheduler = {.cache = {.num_blocks = 24, .block_size = 4},
                       .batch = {.max_batch_size = 6}};
  options.executor.drafts = 3;
  return run_mode(mode, *model,
                  {.workload = workload,
                   .options = options_of_mode(options, mode),
                   .clock = {.step_us = 100, .token_us = 1},
                   .trace = trace,
                   .step_times = &times,
                   .progress = {}})
      .value();
}

Workload five_requests() {
  return {{.arrival_us = 0, .prompt_tokens = 30, .new_tokens = 20},
          {.arrival_us = 50, .prompt_tokens = 10, .new_tokens = 30},
          {.arrival_us = 60, .prompt_tokens = 40, .new_tokens = 25},
          {.arrival_us = 70, .prompt_tokens = 5, .new_tokens = 40},
          {.arrival_us = 90000, .prompt_tokens = 8, .new_tokens = 8}};
}

/// The steps of a trace, as a recording has them but for their times, counted row by row. Sequences
/// have the numbers of their requests, plus `first_seq`.
std::vector<RecordedStep> steps_of(std::istream& trace) {
  auto reader = trace::TraceReader::open(trace).value();
  std::vector<RecordedStep> steps;
  std::vector<std::uint32_t> arrived;
  std::optional<std::uint64_t> first_seq;
  while (const auto event = reader.next().value()) {
    if (const auto* submit = std::get_if<trace::SubmitEvent>(&*event)) {
      first_seq = first_seq.value_or(submit->seq.value);
      arrived.push_back(static_cast<std::uint32_t>(submit->seq.value - *first_seq));
    }
    const auto* step = std::get_if<trace::StepEvent>(&*event);
    if (step == nullptr || step->plan.slices.empty()) continue;
    RecordedStep counted{.step = step->plan.step.value, .arrived = std::exchange(arrived, {})};
    for (std::size_t i = 0; i < step->plan.slices.size(); ++i) {
      const Slice& slice = step->plan.slices[i];
      const bool decodes = i < step->plan.decodes;
      for (std::uint32_t row = 0; row < slice.count; ++row) {
        const bool is_draft = row >= slice.count - slice.drafts;
        if (is_draft) ++counted.work.drafts;
        if (!is_draft && !decodes) ++counted.work.prompt_rows;
        (decodes ? counted.work.decode_keys : counted.work.prompt_keys) += slice.first + row + 1;
        if (slice.samples && row + 1 + slice.drafts >= slice.count) ++counted.work.logit_rows;
      }
      if (decodes) ++counted.work.decodes;
      const auto request = static_cast<std::uint32_t>(slice.seq.value - *first_seq);
      counted.tokens.insert(counted.tokens.end(), step->result.slices[i].token_count, request);
    }
    counted.work.blocks_copied = step->plan.copies.size();
    steps.push_back(std::move(counted));
  }
  return steps;
}

TEST(StepRecorder, a_recording_and_the_trace_of_the_same_run_agree) {
  for (const BenchMode mode : {BenchMode::continuous, BenchMode::speculative}) {
    std::stringstream text;
    trace::TraceStream trace(text);
    StepRecording times;
    const ModeResult result =
        timed_run(mode, five_requests(), runtime::TargetKind::cpu, times, &trace);
    EXPECT_GT(result.preemptions, 0u);
    for (RecordedStep& step : times.steps) {
      EXPECT_GT(step.execute_us, 0);
      EXPECT_GT(step.policy_us, 0);
      step.execute_us = step.policy_us = 0;
    }
    EXPECT_EQ(times.steps, steps_of(text)) << name_of(mode);
    EXPECT_EQ(times.target.kind, "cpu");
    EXPECT_EQ(times.target.model, "forge-tiny");
    EXPECT_EQ(times.workload.mode, name_of(mode));
    EXPECT_EQ(times.workload.requests, 5u);
  }
}

TEST(StepRecording, what_is_written_is_read) {
  const StepRecording recording = synthetic_recording("poems.jsonl");
  std::stringstream text;
  write_recording(recording, text);
  EXPECT_EQ(read_recording(text).value(), recording);
}

TEST(StepRecording, a_line_says_no_more_than_there_is) {
  StepRecording recording = synthetic_recording("poems.jsonl");
  recording.steps = {recording.steps.back()};
  recording.steps[0].execute_us = 0.12345;
  std::stringstream text;
  write_recording(recording, text);
  EXPECT_EQ(text.str(),
            R"({"forge_step_times":1,"target":"cpu","device":"Difference Engine",)"
            R"("instructions":"","numerics":"canonical","model":"forge-tiny",)"
            R"("config":"0123456789abcdef","kv":"f32","threads":2,"mode":"continuous",)"
            R"("workload":"poems.jsonl","requests":2,"max_batch_size":4,"max_batch_tokens":64,)"
            R"("drafts":0})"
            "\n"
            R"({"step":6,"execute_us":0.123,"policy_us":2.0,"decodes":1,"decode_keys":25,)"
            R"("logit_rows":1,"tokens":[1]})"
            "\n");
}

TEST(StepRecording, files_that_are_none_are_refused_by_line_and_member) {
  std::stringstream whole;
  write_recording(synthetic_recording("poems.jsonl"), whole);
  const auto expect_refused = [&](const std::string& from, const std::string& to,
                                  const std::string& part) {
    std::string text = whole.str();
    ASSERT_NE(text.find(from), text.npos) << from;
    std::istringstream in(text.replace(text.find(from), from.size(), to));
    const auto recording = read_recording(in);
    ASSERT_FALSE(recording) << part;
    EXPECT_THAT(recording.error(), HasSubstr(part));
  };
  expect_refused(whole.str(), "", "no recording of step times: line 1: ");
  expect_refused(whole.str(), "{\"version\":9}", "line 1: unknown field 'version'");
  expect_refused("_times\":1", "_times\":2", "line 1: forge_step_times is 2; accepted is 1");
  expect_refused("\"cpu\"", "\"null\"",
                 "target is \"null\"; accepted is \"cpu\", \"sim\", \"cuda\"");
  expect_refused("\"requests\":2", "\"requests\":0", "requests is 0; accepted is an integer, 1 ..");
  expect_refused("\"threads\":2", "\"threads\":\"all\"", "threads is \"all\"");
  expect_refused("\n", "\n{\n", "line 2: ");
  expect_refused("\"step\":1,", "\"step\":-1,", "line 3: step is -1; accepted is an integer, 0 ..");
  expect_refused("\"decodes\":1,\"prompt_rows\":20,", "",
                 "line 3: decodes is missing; accepted is an integer above 0");
  expect_refused("\"decode_keys\":11", "\"keys\":11", "line 3: unknown field 'keys'");
  expect_refused("\"execute_us\":83.0,\"policy_us\":2.0", "\"execute_us\":0,\"policy_us\":0",
                 "line 2: execute_us is 0; accepted is a number above 0");
  expect_refused("\"arrived\":[1]", "\"arrived\":[0]", "line 3: arrived has request 0 again");
  expect_refused("\"arrived\":[1]", "\"arrived\":[2]", "line 3: arrived is a list of 1; accepted");
  expect_refused("\"tokens\":[0]", "\"tokens\":[1]",
                 "line 2: tokens has request 1, which has not arrived");
  const std::size_t second_line = whole.str().find('\n') + 1;
  expect_refused(whole.str().substr(second_line), "", "has no steps");
}

/// Steps of all kinds, with times by `us`.
std::vector<TimedWork> timed_steps(const std::function<double(const StepWork&)>& us) {
  std::vector<TimedWork> steps;
  for (std::uint64_t i = 0; i < 300; ++i) {
    StepWork work{.decodes = i % 8, .prompt_rows = i % 3 * 32, .blocks_copied = i % 11 / 10};
    if (work.decodes + work.prompt_rows == 0) work.decodes = 1;
    work.drafts = i % 5 == 0 ? work.decodes * 3 : 0;
    work.decode_keys = work.decodes * (100 + 7 * i);
    work.prompt_keys = work.prompt_rows * (40 + i * i % 700);
    steps.push_back({work, us(work)});
  }
  return steps;
}

/// 20 us a step, 3 a decode, ...; a key of decodes 0.01, beyond 3072 of them 0.05.
double known_us(const StepWork& work) {
  const StepTimeModel model{.us = {20, 3, 5, 2, 0.01, 0.04, 0.02, 7}, .near_keys = 3072};
  return model.us_of(work);
}

TEST(StepTimeModel, known_coefficients_are_found_again) {
  const StepTimeModel model = fit_step_times(timed_steps(known_us));
  const StepTerms expected{20, 3, 5, 2, 0.01, 0.04, 0.02, 7};
  EXPECT_THAT(model.us, ::testing::Pointwise(::testing::DoubleNear(1e-6), expected));
  EXPECT_EQ(model.near_keys, 3072u);
}

TEST(StepTimeModel, steps_that_were_interrupted_do_not_pull) {
  std::vector<TimedWork> steps = timed_steps(known_us);
  for (std::size_t i = 0; i < steps.size(); i += 10) steps[i].us *= 4;
  const StepTimeModel model = fit_step_times(steps);
  for (const TimedWork& step : timed_steps(known_us)) {
    EXPECT_NEAR(model.us_of(step.work) / step.us, 1, 0.01);
  }
}

TEST(StepTimeModel, no_coefficient_is_negative) {
  const auto cheaper_by_drafts = [](const StepWork& work) {
    return 500 + 3 * static_cast<double>(work.decodes) - static_cast<double>(work.drafts);
  };
  const StepTimeModel model = fit_step_times(timed_steps(cheaper_by_drafts));
  EXPECT_THAT(model.us, ::testing::Each(::testing::Ge(0)));
  EXPECT_EQ(model.us[static_cast<std::size_t>(StepTerm::draft)], 0);
  EXPECT_THAT(model.us[static_cast<std::size_t>(StepTerm::step)], DoubleNear(500, 10));
}

TEST(StepTimeModel, what_no_step_had_is_unknown) {
  std::vector<TimedWork> steps = timed_steps(known_us);
  for (TimedWork& step : steps) step.work.drafts = step.work.blocks_copied = 0;
  const StepTimeModel model = fit_step_times(steps);
  EXPECT_EQ(model.unknown({.decodes = 9, .decode_keys = 1'000'000}), std::nullopt);
  EXPECT_EQ(model.unknown({.decodes = 9, .drafts = 1}), StepTerm::draft);
}

}  // namespace
}  // namespace forge::apps
