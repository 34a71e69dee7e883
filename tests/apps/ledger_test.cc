#include "ledger.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/synthetic_recording.h"
#include "bench_run.h"
#include "ledger_report.h"

namespace forge::apps {
namespace {

using ::testing::HasSubstr;
using testing::synthetic_recording;

std::vector<NamedRecording> repeats_of(const std::string& workload,
                                       const std::vector<double>& factors) {
  std::vector<NamedRecording> recordings;
  for (const double factor : factors) {
    const std::string number = std::to_string(recordings.size() + 1);
    recordings.push_back({workload + "-" + number, synthetic_recording(workload, factor)});
  }
  return recordings;
}

TEST(Ledger, as_text) {
  std::vector<NamedRecording> held_back = repeats_of("plays", {1.25, 1.3, 1.27});
  held_back.push_back({"songs-1", synthetic_recording("songs", 1.02)});
  const auto ledger = make_ledger(repeats_of("poems", {1, 1.01, 0.98}), held_back);
  std::ostringstream text;
  print(ledger.value(), text);
  EXPECT_EQ(text.str(),
            R"(cpu: Difference Engine, 2 threads; forge-tiny, KV of f32, canonical numerics
fitted to 7 steps:
  step           10.0000 us
  decode          2.0000 us
  prompt_row      2.0000 us
  decode_key      1.0000 us
  prompt_key      1.0000 us

fitted poems: continuous, 2 requests, batch of 4, 3 repeats
          steps  measured us   predicted   error  at p95  spread    goal
decode        5         49.0        49.0    0.0%    0.0%    3.1%   noise
prefill       1         85.0        85.0    0.0%    0.0%    3.1%   noise
mixed         1        273.0       273.0    0.0%    0.0%    3.1%   noise
TTFT p50               273.0       273.0    0.0%            3.1%   noise
TTFT p95               273.0       273.0    0.0%            3.1%   noise
TPOT p50                94.6        94.6    0.0%            3.1%   noise
TPOT p95                94.6        94.6    0.0%            3.1%   noise

held back plays: continuous, 2 requests, batch of 4, 3 repeats
          steps  measured us   predicted   error  at p95  spread    goal
decode        5         62.2        49.0   21.3%   21.3%    4.0%  missed
prefill       1        108.0        85.0   21.3%   21.3%    4.0%  missed
mixed         1        346.7       273.0   21.3%   21.3%    4.0%  missed
TTFT p50               346.7       273.0   21.3%            4.0%  missed
TTFT p95               346.7       273.0   21.3%            4.0%
TPOT p50               120.1        94.6   21.3%            4.0%  missed
TPOT p95               120.1        94.6   21.3%            4.0%

held back songs: continuous, 2 requests, batch of 4, 1 repeat
          steps  measured us   predicted   error  at p95  spread    goal
decode        5         50.0        49.0    2.0%    2.0%       -    kept
prefill       1         86.7        85.0    2.0%    2.0%       -    kept
mixed         1        278.5       273.0    2.0%    2.0%       -    kept
TTFT p50               278.5       273.0    2.0%               -    kept
TTFT p95               278.5       273.0    2.0%               -
TPOT p50                96.5        94.6    2.0%               -    kept
TPOT p95                96.5        94.6    2.0%               -

held back, at p50: 0 noise, 5 kept the goal of 5%, 5 missed it; )"
            "the largest error is 21.3% (plays, decode)\n");
}

TEST(Ledger, as_json) {
  const auto ledger =
      make_ledger(repeats_of("poems", {1, 1.01, 0.98}), repeats_of("plays", {1.25}));
  const nlohmann::json json = to_json(ledger.value());
  EXPECT_EQ(json["target"]["device"], "Difference Engine");
  EXPECT_EQ(json["goal"], 0.05);
  ASSERT_EQ(json["runs"].size(), 2u);
  EXPECT_EQ(json["runs"][0]["held_back"], false);
  EXPECT_EQ(json["runs"][1]["workload"], "plays");
  const nlohmann::json row = json["runs"][1]["rows"][0];
  EXPECT_EQ(row["name"], "decode");
  EXPECT_EQ(row["steps"], 5);
  EXPECT_NEAR(row["error"], 0.2, 0.001);
  EXPECT_EQ(row["verdict"], "missed");
  EXPECT_FALSE(row.contains("spread")) << "nothing was repeated";
  const nlohmann::ordered_json model = model_json(*ledger);
  EXPECT_EQ(model["forge_step_time_model"], 1);
  EXPECT_EQ(model["target"], "cpu");
  EXPECT_FALSE(model["us"].contains("draft")) << "no step had drafts";
}

TEST(Ledger, times_of_requests_are_those_that_a_simulated_device_tells) {
  static const auto model = runtime::LoadedModel::open({}).value();
  std::vector<NamedRecording> recordings;
  std::vector<Prediction> told;
  for (const std::uint32_t tokens : {12, 20}) {
    runtime::TargetOptions options;
    options.kind = runtime::TargetKind::sim;
    const Workload workload{{.prompt_tokens = tokens, .new_tokens = 5},
                            {.prompt_tokens = 2 * tokens, .new_tokens = 9},
                            {.prompt_tokens = 9, .new_tokens = 3}};
    NamedRecording& one = recordings.emplace_back();
    const ModeResult result =
        run_mode(BenchMode::continuous, *model,
                 {.workload = workload, .options = options, .step_times = &one.recording})
            .value();
    one.recording.workload.name = std::to_string(tokens);
    told.push_back(result.predicted.value());
  }
  const std::span<const NamedRecording> all(recordings);
  const auto ledger = make_ledger(all.first(1), all.last(1));
  ASSERT_TRUE(ledger) << ledger.error();
  EXPECT_THAT(ledger->target.device, HasSubstr("H200"));
  const auto measured_us = [](const LedgerRun& run, const std::string& name) {
    return std::ranges::find(run.rows, name, &LedgerRow::name)->measured_us;
  };
  for (const auto& [run, prediction] : {std::pair(ledger->fitted.front(), told.front()),
                                        std::pair(ledger->held_back.front(), told.back())}) {
    EXPECT_FLOAT_EQ(measured_us(run, "TTFT p50"), prediction.ttft_us.p50);
    EXPECT_FLOAT_EQ(measured_us(run, "TTFT p95"), prediction.ttft_us.p95);
    EXPECT_FLOAT_EQ(measured_us(run, "TPOT p50"), prediction.tpot_us.p50);
    EXPECT_FLOAT_EQ(measured_us(run, "TPOT p95"), prediction.tpot_us.p95);
  }
}

TEST(Ledger, what_cannot_be_compared_is_named) {
  const std::vector<NamedRecording> fit = repeats_of("poems", {1, 1.01});
  const auto expect_refused = [&](const std::vector<NamedRecording>& fitted,
                                  const std::vector<NamedRecording>& held_back,
                                  const std::string& message) {
    const auto ledger = make_ledger(fitted, held_back);
    ASSERT_FALSE(ledger) << message;
    EXPECT_EQ(ledger.error(), message);
  };
  std::vector<NamedRecording> plays = repeats_of("plays", {1});
  plays[0].recording.target.threads = 1;
  expect_refused(fit, plays, "plays-1: threads is 1; accepted is 2, that of poems-1");

  std::vector<NamedRecording> others = fit;
  others[1].recording.steps[3].work.decode_keys += 1;
  expect_refused(others, repeats_of("plays", {1}),
                 "poems-2: says that it repeats poems-1, but step 3 is another");
  others[1].recording.steps = fit[1].recording.steps;
  others[1].recording.steps.pop_back();
  expect_refused(others, repeats_of("plays", {1}),
                 "poems-2: says that it repeats poems-1, but ends before step 6");
  expect_refused(repeats_of("poems", {1, 2, 1}), repeats_of("plays", {1}),
                 "poems-3: is poems-1 again, to the nanosecond");
  std::vector<NamedRecording> batches = repeats_of("poems", {1});
  batches[0].recording.workload.max_batch_size = 2;
  expect_refused(fit, batches,
                 "poems-1: workload is 'poems', that of poems-1, which is fitted; accepted is "
                 "another");
  plays = repeats_of("plays", {1});
  plays[0].recording.steps[4].work.drafts = 3;
  expect_refused(fit, plays,
                 "plays-1: step 4 has work (draft) of which no fitted recording has any");
}

}  // namespace
}  // namespace forge::apps
