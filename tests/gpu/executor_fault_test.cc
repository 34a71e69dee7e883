// A device that fails at any call of a run: the step says so, the engine ends the requests that
// were in it and goes on; nothing else is touched, and everything is freed.
//
// A run is four requests on a tiny model: prompts in chunks, decodes by graphs, swaps out and in,
// in one of the runs also drafts. It is repeated for each call to the device, with that call
// failing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executor/seeded_gpu_model.h"
#include "forge/engine/engine.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/sim/sim_device.h"

namespace forge {
namespace {

using sim::DeviceCall;
using sim::Fault;
using ::testing::HasSubstr;
using testing::seeded_gpu_model;
using ::testing::StartsWith;

constexpr SchedulerConfig kConfig{.cache = {.num_blocks = 6, .block_size = 2, .num_host_blocks = 6},
                                  .batch = {.max_batch_size = 3, .max_batch_tokens = 8},
                                  .prefill_chunk_size = 3,
                                  .preemption = PreemptionPolicy::swap,
                                  .prefix_cache = PrefixCacheKind::none};

constexpr reference::TinyConfig kModel{.vocabulary_size = 40,
                                       .hidden_size = 8,
                                       .layers = 1,
                                       .heads = 2,
                                       .kv_heads = 1,
                                       .head_size = 4,
                                       .ffn_size = 8};

executor::ExecutorOptions options_of(std::uint32_t drafts) {
  return {.cache = kConfig.cache,
          .batch = kConfig.batch,
          .drafts = drafts,
          .draft_layers = 1,
          .check_kv = true};
}

Request request_of(std::uint32_t first, std::uint32_t prompt_tokens) {
  Request request{.prompt = {}, .max_new_tokens = 5, .sampling = {0.9F, first}};
  for (std::uint32_t i = 0; i < prompt_tokens; ++i) request.prompt.emplace_back(first + i);
  request.ignore_eos = true;
  return request;
}

/// Which call meets which fault.
struct Planned {
  std::uint64_t call = ~std::uint64_t{0};
  Fault fault = Fault::none;
};

struct Output {
  std::vector<TokenId> tokens;
  FinishReason finish = FinishReason::none;
  bool was_in_a_failed_step = false;
};

/// One run of four requests through the engine, from the device's creation to its end.
class FaultyRun {
 public:
  explicit FaultyRun(std::uint32_t drafts, Planned planned = {})
      : planned_(planned),
        device_({.device = sim::find_device("h200").value(), .faults = [this](const DeviceCall& c) {
                   calls_ = c.index + 1;
                   if (c.index != planned_.call) return Fault::none;
                   met_ = c.kind;
                   return planned_.fault;
                 }}) {
    auto created = gpu::GpuExecutor::create(device_, seeded_gpu_model(kModel), options_of(drafts));
    calls_of_creation_ = calls_;
    if (!created) {
      creation_error_ = to_string(created.error());
      return;
    }
    executor_ = std::move(*created);
    engine::Engine engine(kConfig, *executor_);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const SeqId seq = engine.submit(request_of(1 + 9 * i, 3 + i % 3)).value();
      outputs_[seq] = {};
    }
    for (int step = 0; engine.has_work() && step < 200; ++step) take(engine, engine.step());
    EXPECT_FALSE(engine.has_work()) << "a run ends, whatever happens";
    EXPECT_EQ(engine.scheduler().cache().pool().free_count(), kConfig.cache.num_blocks);
    EXPECT_EQ(engine.scheduler().host().pool().free_count(), kConfig.cache.num_host_blocks);
    target_lost_ = engine.target_lost();
    executor_.reset();
    EXPECT_EQ(device_.statistics().bytes_allocated, 0U);
  }

  std::uint64_t calls() const { return calls_; }
  std::uint64_t calls_of_creation() const { return calls_of_creation_; }
  const std::string& creation_error() const { return creation_error_; }
  std::uint64_t bytes_allocated() const { return device_.statistics().bytes_allocated; }
  const std::map<SeqId, Output>& outputs() const { return outputs_; }
  const std::vector<std::string>& errors() const { return errors_; }
  bool target_lost() const { return target_lost_; }
  DeviceCall::Kind met() const { return met_; }
  std::uint64_t swaps() const { return swaps_; }

 private:
  void take(engine::Engine& engine, const engine::Engine::Step& step) {
    bool failed = false;
    for (const SliceResult& slice : step.result.slices) {
      Output& output = outputs_[slice.seq];
      for (const TokenId token : step.result.tokens_of(slice)) output.tokens.push_back(token);
      failed = failed || slice.signal == FinishSignal::error;
    }
    for (const Finish& finish : step.plan.finished) outputs_[finish.seq].finish = finish.reason;
    for (const BlockCopy& copy : step.plan.copies) {
      swaps_ += copy.kind == CopyKind::within ? 0 : 1;
    }
    if (!failed) return;
    errors_.push_back(engine.last_error());
    for (const Slice& slice : step.plan.slices) outputs_[slice.seq].was_in_a_failed_step = true;
  }

  Planned planned_;
  std::uint64_t calls_ = 0;
  std::uint64_t calls_of_creation_ = 0;
  DeviceCall::Kind met_ = DeviceCall::Kind::create;
  sim::SimDevice device_;
  std::unique_ptr<gpu::GpuExecutor> executor_;
  std::string creation_error_;
  std::map<SeqId, Output> outputs_;
  std::vector<std::string> errors_;
  bool target_lost_ = false;
  std::uint64_t swaps_ = 0;
};

/// With and without drafts. With them a step has no graph but more passes.
class ExecutorFault : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  static std::uint32_t drafts() { return GetParam(); }

  /// What came out whole is what comes out without faults; the rest is the beginning of that.
  static void expect_beginnings(const FaultyRun& golden, const FaultyRun& run) {
    for (const auto& [seq, output] : run.outputs()) {
      const Output& whole = golden.outputs().at(seq);
      ASSERT_NE(output.finish, FinishReason::none) << "sequence " << seq.value;
      ASSERT_LE(output.tokens.size(), whole.tokens.size());
      if (output.finish != FinishReason::error) {
        ASSERT_EQ(output.tokens.size(), whole.tokens.size());
      }
      for (std::size_t i = 0; i < output.tokens.size(); ++i) {
        ASSERT_EQ(output.tokens[i], whole.tokens[i]) << "sequence " << seq.value;
      }
    }
  }
};

TEST_P(ExecutorFault, no_call_fails_unless_it_is_told_to) {
  const FaultyRun run(drafts());
  EXPECT_TRUE(run.errors().empty());
  EXPECT_GT(run.swaps(), 0U) << "or the runs below would say little";
  for (const auto& [seq, output] : run.outputs()) {
    EXPECT_EQ(output.finish, FinishReason::length);
    EXPECT_EQ(output.tokens.size(), 5U);
  }
}

TEST_P(ExecutorFault, a_call_that_fails_while_an_executor_is_created_is_named_and_all_is_freed) {
  const std::uint64_t calls = FaultyRun(drafts()).calls_of_creation();
  for (std::uint64_t call = 0; call < calls; ++call) {
    const FaultyRun run(drafts(), {call, Fault::fails});
    EXPECT_THAT(run.creation_error(), HasSubstr("injected fault at call " + std::to_string(call)));
    EXPECT_EQ(run.bytes_allocated(), 0U);
  }
}

TEST_P(ExecutorFault, a_call_that_fails_ends_the_requests_of_its_step_and_nobody_else) {
  const FaultyRun golden(drafts());
  for (std::uint64_t call = golden.calls_of_creation(); call < golden.calls(); ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    const FaultyRun run(drafts(), {call, Fault::fails});
    ASSERT_EQ(run.errors().size(), 1U);
    EXPECT_THAT(run.errors()[0], StartsWith("step "));
    EXPECT_THAT(run.errors()[0], HasSubstr("injected fault at call " + std::to_string(call)));
    EXPECT_THAT(run.errors()[0], HasSubstr("H200"));
    EXPECT_FALSE(run.target_lost());
    for (const auto& [seq, output] : run.outputs()) {
      EXPECT_EQ(output.finish == FinishReason::error, output.was_in_a_failed_step)
          << "sequence " << seq.value;
    }
    ASSERT_NO_FATAL_FAILURE(expect_beginnings(golden, run));
  }
}

TEST_P(ExecutorFault, a_device_that_is_lost_at_any_call_ends_all_requests) {
  const FaultyRun golden(drafts());
  for (std::uint64_t call = golden.calls_of_creation(); call < golden.calls(); ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    const FaultyRun run(drafts(), {call, Fault::device_lost});
    EXPECT_TRUE(run.target_lost());
    ASSERT_FALSE(run.errors().empty());
    for (const std::string& error : run.errors()) {
      EXPECT_THAT(error, HasSubstr("injected fault at call " + std::to_string(call)))
          << "later steps repeat what the device was lost by";
    }
    ASSERT_NO_FATAL_FAILURE(expect_beginnings(golden, run));
  }
}

TEST_P(ExecutorFault, a_result_that_arrives_a_step_late_is_seen_and_both_steps_are_named) {
  const FaultyRun golden(drafts());
  std::size_t late_results = 0;
  for (std::uint64_t call = golden.calls_of_creation(); call < golden.calls(); ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    const FaultyRun run(drafts(), {call, Fault::late});
    ASSERT_NO_FATAL_FAILURE(expect_beginnings(golden, run));
    if (run.errors().empty()) continue;  // not the call that brings the result
    ++late_results;
    ASSERT_EQ(run.errors().size(), 1U);
    EXPECT_THAT(run.errors()[0], HasSubstr("the result of step "));
    EXPECT_THAT(run.errors()[0], ::testing::ContainsRegex("that of step [0-9]+|none"));
    EXPECT_TRUE(run.met() == DeviceCall::Kind::copy || run.met() == DeviceCall::Kind::graph_launch);
  }
  EXPECT_GT(late_results, 5U);
}

std::string drafts_name(const ::testing::TestParamInfo<std::uint32_t>& drafts) {
  return drafts.param == 0 ? "without_drafts" : "with_drafts";
}

INSTANTIATE_TEST_SUITE_P(runs, ExecutorFault, ::testing::Values(0U, 2U), drafts_name);

}  // namespace
}  // namespace forge
