#include "bench_run.h"

#include <gtest/gtest.h>

#include <sstream>

#include "bench_report.h"

namespace forge::apps {
namespace {

runtime::TargetOptions small_target(runtime::TargetKind kind = runtime::TargetKind::cpu) {
  runtime::TargetOptions options;
  options.kind = kind;
  options.scheduler = {.cache = {.num_blocks = 24, .block_size = 4},
                       .batch = {.max_batch_size = 6}};
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

const runtime::LoadedModel& builtin() {
  static const std::unique_ptr<runtime::LoadedModel> model = runtime::LoadedModel::open({}).value();
  return *model;
}

ModeResult run(BenchMode mode, const Workload& workload,
               runtime::TargetKind kind = runtime::TargetKind::cpu) {
  const BenchRun bench{.workload = workload,
                       .options = options_of_mode(small_target(kind), mode),
                       .clock = {.step_us = 100, .token_us = 1},
                       .trace = nullptr,
                       .progress = {}};
  return run_mode(mode, builtin(), bench).value();
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
  EXPECT_GT(results[2].drafts.accepted, 0u);
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
  std::ostringstream text;
  trace::TraceStream trace(text);
  int steps = 0;
  const BenchRun bench{.workload = workload,
                       .options = options_of_mode(small_target(), BenchMode::continuous),
                       .clock = {},
                       .trace = &trace,
                       .progress = [&](std::size_t) { return ++steps < 5; }};
  const ModeResult result = run_mode(BenchMode::continuous, builtin(), bench).value();
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.steps, 5u);
  EXPECT_EQ(text.str().back(), '\n');
}

TEST(BenchRun, a_simulated_device_says_what_the_run_would_take_there) {
  const Workload workload = workload_of({{0, 20, 6}, {50, 10, 8}, {90'000, 8, 8}});
  const ModeResult cpu = run(BenchMode::continuous, workload);
  const ModeResult sim = run(BenchMode::continuous, workload, runtime::TargetKind::sim);
  EXPECT_EQ(sim.token_digests, cpu.token_digests);
  EXPECT_FALSE(cpu.predicted);
  ASSERT_TRUE(sim.predicted);
  const Prediction& p = *sim.predicted;
  EXPECT_EQ(p.device, "simulated NVIDIA H200 SXM 141GB");
  EXPECT_TRUE(p.calibrated);
  EXPECT_GT(p.step_us.p50, 0);
  EXPECT_GE(p.step_us.p95, p.step_us.p50);
  EXPECT_GE(p.ttft_us.p50, p.step_us.p50) << "the first token takes a step at least";
  EXPECT_GT(p.itl_us.p50, 0);
  EXPECT_GT(p.kernels[static_cast<std::size_t>(gpu::KernelId::project)].launches, 0u);
  EXPECT_GT(sim.virtual_seconds, 0.09) << "the last request arrives then";
  EXPECT_LT(p.busy_us / 1e6, sim.virtual_seconds - 0.05) << "most of that is waiting for it";
  EXPECT_EQ(run(BenchMode::continuous, workload, runtime::TargetKind::sim).predicted->busy_us,
            p.busy_us)
      << "the clock is the device's, not this machine's";
}

TEST(BenchRun, a_target_that_cannot_be_opened_is_an_error) {
  runtime::TargetOptions options = small_target(runtime::TargetKind::sim);
  options.device.device = "h2000";
  const Workload workload = synthetic_workload(1);
  const auto result = run_mode(BenchMode::continuous, builtin(),
                               {.workload = workload, .options = options, .progress = {}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().find("h2000"), std::string::npos) << result.error();
}

TEST(BenchReport, a_prediction_says_of_what_and_whether_it_is_calibrated) {
  ModeResult result;
  result.generated_tokens = 500;
  result.virtual_seconds = 0.25;
  result.predicted = Prediction{.device = "simulated L4",
                                .step_us = {40, 90},
                                .ttft_us = {100, 200},
                                .itl_us = {41, 91},
                                .busy_us = 5e5,
                                .kernels = std::vector<gpu::Estimate::Kernel>(13)};
  result.predicted->kernels[static_cast<std::size_t>(gpu::KernelId::project)] = {7, 12.5};
  std::ostringstream text;
  print_table(std::span(&result, 1), text);
  EXPECT_NE(text.str().find("on simulated L4, uncalibrated: us p50/p95 of a step 40/90, TTFT "
                            "100/200, ITL 41/91, 2000 tok/s"),
            std::string::npos)
      << text.str();
  const nlohmann::json json = to_json(std::span(&result, 1))["runs"][0]["predicted"];
  EXPECT_EQ(json["calibrated"], false);
  EXPECT_EQ(json["step_us"]["p95"], 90);
  EXPECT_EQ(json["tokens_per_second"], 2000);
  EXPECT_EQ(json["busy_seconds"], 0.5);
  EXPECT_EQ(json["kernels"], (nlohmann::json{{"project", {{"launches", 7}, {"us", 12.5}}}}));
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
}  // namespace forge::apps
