// Faults at every call of a run: the engine reports a failure to the requests concerned, all others
// get exactly the tokens that they get without it, everything comes free, and the run goes on or
// stops cleanly.
#include <gmock/gmock.h>

#include <random>

#include "sim/faulty_run.h"

namespace forge::testing {
namespace {

using sim::Fault;
using ::testing::HasSubstr;

constexpr std::array kFaultNames{"none", "fails", "device_lost", "late"};

Request request_of(std::uint32_t prompt_tokens, std::uint32_t new_tokens, std::uint64_t seed) {
  Request request{.max_new_tokens = new_tokens,
                  .sampling = {.temperature = seed % 2 == 0 ? 0.0F : 0.8F, .seed = seed},
                  .ignore_eos = true};
  for (std::uint32_t i = 0; i < prompt_tokens; ++i) {
    request.prompt.emplace_back((i < 8 ? seed % 2 + i : 31 * seed + 7 * i) % 256 + 1);
  }
  return request;
}

void follow(Scenario& scenario) {
  executor::ExecutorOptions& e = scenario.executor;
  e.cache = scenario.scheduler.cache;
  e.batch = scenario.scheduler.batch;
  e.check_kv = true;
}

/// Prompts in chunks, decodes as graphs; three requests, the last one comes later.
Scenario short_run() {
  Scenario scenario{
      .scheduler = {.cache = {.num_blocks = 12, .block_size = 4},
                    .batch = {.max_batch_size = 2, .max_batch_tokens = 8},
                    .prefill_chunk_size = 6},
      .executor = {.draft_layers = 1},
      .requests = {{0, request_of(9, 3, 1)}, {0, request_of(3, 4, 2)}, {3, request_of(9, 2, 3)}}};
  follow(scenario);
  return scenario;
}

/// Also shared prefixes, copies on write, swaps, recomputes and drafts.
Scenario eventful_run() {
  Scenario scenario{
      .scheduler = {.cache = {.num_blocks = 11, .block_size = 4, .num_host_blocks = 6},
                    .batch = {.max_batch_size = 4, .max_batch_tokens = 16},
                    .prefill_chunk_size = 8,
                    .swap_setup_cost = 2,
                    .swap_block_cost = 1},
      .executor = {.drafts = 2, .draft_layers = 1}};
  for (std::uint32_t i = 0; i < 9; ++i) {
    scenario.requests.emplace_back(i, request_of(8 + 4 * (i / 2 % 3), 7 + i, i / 2));
  }
  follow(scenario);
  return scenario;
}

RunReport run(const Scenario& scenario, sim::FaultInjector faults = nullptr) {
  return FaultyRun(scenario, std::move(faults)).go();
}

bool is_prefix(const std::vector<TokenId>& part, const std::vector<TokenId>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

/// What holds of a run with any faults, beside one without.
void expect_clean(const RunReport& run, const RunReport& without) {
  EXPECT_EQ(run.bytes_left, 0u);
  EXPECT_EQ(run.violation, "");
  if (run.not_created) return;
  EXPECT_TRUE(run.idle_at_the_end);
  ASSERT_EQ(run.endings.size(), without.endings.size());
  for (const auto& [seq, ending] : run.endings) {
    const Ending& expected = without.endings.at(seq);
    if (ending.reason == FinishReason::error) {
      EXPECT_TRUE(is_prefix(ending.tokens, expected.tokens)) << "sequence " << seq.value;
    } else {
      EXPECT_EQ(ending, expected) << "sequence " << seq.value;
    }
  }
}

/// The sequences that ended with an error are those of the failed steps.
void expect_errors_of_failed_steps(const RunReport& run) {
  std::set<SeqId> concerned;
  for (const auto& failed : run.failed_steps) {
    concerned.insert(failed.sequences.begin(), failed.sequences.end());
  }
  std::set<SeqId> ended;
  for (const auto& [seq, ending] : run.endings) {
    if (ending.reason == FinishReason::error) ended.insert(seq);
  }
  EXPECT_EQ(ended, concerned);
}

/// A run in which call number `index` has met `fault`.
void expect_survives(const Scenario& scenario, const RunReport& without, std::size_t index,
                     Fault fault) {
  const RunReport::Call& call = without.calls[index];
  SCOPED_TRACE("call " + std::to_string(index) + " (" + call.what + ") " +
               kFaultNames[static_cast<std::size_t>(fault)]);
  const RunReport with = run(scenario, fault_at(index, fault));
  expect_clean(with, without);

  if (fault == Fault::late) {
    EXPECT_EQ(with.failed_steps.size(), call.downloads ? 1u : 0u);
    for (const auto& failed : with.failed_steps) {
      EXPECT_THAT(failed.message, HasSubstr("was waited for, and"));
    }
    EXPECT_FALSE(with.lost);
    expect_errors_of_failed_steps(with);
  } else if (index < without.calls_to_create) {
    ASSERT_TRUE(with.not_created);
    EXPECT_THAT(to_string(*with.not_created), HasSubstr(call.what));
    EXPECT_THAT(to_string(*with.not_created), HasSubstr("injected fault"));
    EXPECT_EQ(with.not_created->lost, fault == Fault::device_lost);
  } else {
    ASSERT_GE(with.failed_steps.size(), 1u);
    EXPECT_THAT(with.failed_steps[0].message, HasSubstr("injected fault at call"));
    EXPECT_THAT(with.failed_steps[0].message,
                HasSubstr("step " + std::to_string(with.failed_steps[0].step.value)));
    EXPECT_EQ(with.lost, fault == Fault::device_lost);
    if (fault == Fault::fails) {
      EXPECT_EQ(with.failed_steps.size(), 1u) << "the next step goes on";
      expect_errors_of_failed_steps(with);
    }
  }
}

TEST(Faults, a_run_without_one_ends_well) {
  for (const Scenario& scenario : {short_run(), eventful_run()}) {
    const RunReport report = run(scenario);
    expect_clean(report, report);
    EXPECT_TRUE(report.failed_steps.empty());
    for (const auto& [seq, ending] : report.endings) {
      const Request& request = scenario.requests[seq.value - 1].second;
      EXPECT_EQ(ending.reason, FinishReason::length);
      EXPECT_EQ(ending.tokens.size(), request.max_new_tokens);
    }
  }
}

TEST(Faults, the_eventful_run_has_everything_in_it) {
  const Events events = run(eventful_run()).events;
  EXPECT_GT(events.chunks, 0);
  EXPECT_GT(events.prefix_hits, 0);
  EXPECT_GT(events.copies_within, 0);
  EXPECT_GT(events.swaps_out, 0);
  EXPECT_GT(events.swaps_in, 0);
  EXPECT_GT(events.recomputes, 0);
  EXPECT_GT(events.drafts, 0);
}

class FaultAtEveryCall : public ::testing::TestWithParam<Fault> {};

TEST_P(FaultAtEveryCall, of_a_short_run) {
  const Scenario scenario = short_run();
  const RunReport without = run(scenario);
  const auto replays = [](const RunReport::Call& call) { return call.replays; };
  ASSERT_GT(std::count_if(without.calls.begin(), without.calls.end(), replays), 2);
  for (std::size_t index = 0; index < without.calls.size(); ++index) {
    expect_survives(scenario, without, index, GetParam());
    if (HasFailure()) return;
  }
}

TEST_P(FaultAtEveryCall, of_an_eventful_run_here_and_there) {
  const Scenario scenario = eventful_run();
  const RunReport without = run(scenario);
  constexpr std::size_t kRuns = 40;
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < kRuns; ++i) {
    expect_survives(scenario, without, random() % without.calls.size(), GetParam());
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FaultAtEveryCall,
                         ::testing::Values(Fault::fails, Fault::device_lost, Fault::late),
                         [](const auto& param) {
                           return kFaultNames[static_cast<std::size_t>(param.param)];
                         });

TEST(Faults, many_in_one_run_concern_the_requests_of_the_steps_that_fail) {
  const Scenario scenario = eventful_run();
  const RunReport without = run(scenario);
  std::size_t failed_steps = 0;
  std::size_t unharmed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto faults = [&](const sim::DeviceCall& call) {
      if (call.index < without.calls_to_create || random() % 100 != 0) return Fault::none;
      return random() % 2 == 0 ? Fault::fails : Fault::late;
    };
    const RunReport with = run(scenario, faults);
    expect_clean(with, without);
    expect_errors_of_failed_steps(with);
    if (::testing::Test::HasFailure()) return;
    failed_steps += with.failed_steps.size();
    for (const auto& [seq, ending] : with.endings) unharmed += ending == without.endings.at(seq);
  }
  EXPECT_GT(failed_steps, 40u);
  EXPECT_GT(unharmed, 20u);
}

TEST(Faults, a_device_that_is_too_small_names_the_buffer_and_keeps_nothing) {
  const Scenario scenario = short_run();
  const gpu::GpuModel model = seeded_gpu_model(kFaultyModel);
  sim::SimOptions tiny{.device = sim::find_device("h200").value()};
  tiny.memory_bytes = gpu::GpuExecutor::memory(model, scenario.executor).all().device - 1;
  sim::SimDevice device(tiny);
  const auto executor = gpu::GpuExecutor::create(device, model, scenario.executor);
  ASSERT_FALSE(executor);
  EXPECT_THAT(to_string(executor.error()), HasSubstr("out of memory: mailbox ("));
  EXPECT_EQ(device.statistics().bytes_allocated, 0u);
  *tiny.memory_bytes += 1;
  sim::SimDevice enough(tiny);
  EXPECT_TRUE(gpu::GpuExecutor::create(enough, model, scenario.executor));
}

}  // namespace
}  // namespace forge::testing
