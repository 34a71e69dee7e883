// What the GPU executor asks of its device: how many calls a step costs, what is uploaded, which
// kernels run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "executor/driver.h"
#include "executor/seeded_gpu_model.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/sim/sim_device.h"
#include "gpu/null_device.h"

namespace forge {
namespace {

using sim::DeviceCall;
using ::testing::AllOf;
using ::testing::Contains;
using testing::Driver;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::request_of;
using testing::seeded_gpu_model;

/// A driver over a simulated device that takes notes of all calls.
class ExecutorCalls : public ::testing::Test {
 protected:
  void create(executor::ExecutorOptions options = {.cache = {.num_blocks = 64, .block_size = 16}},
              const gpu::GpuOptions& gpu = {}) {
    device_ = std::make_unique<sim::SimDevice>(
        sim::SimOptions{.device = sim::find_device("h200").value(),
                        .faults = [this](const DeviceCall& call) { return note(call); }});
    driver_ = std::make_unique<Driver>(
        [&](const executor::ExecutorOptions& of) {
          auto created = gpu::GpuExecutor::create(*device_, seeded_gpu_model(), of, gpu);
          FORGE_CHECK(created.has_value(), to_string(created.error()));
          executor_ = created->get();
          return std::move(*created);
        },
        options);
    calls_.clear();
  }
  ~ExecutorCalls() override { driver_.reset(); }

  sim::Fault note(const DeviceCall& call) {
    calls_.push_back(words(call));
    const bool fails = wait_fails_ && call.kind == DeviceCall::Kind::synchronize;
    if (fails) wait_fails_ = false;
    return fails ? sim::Fault::fails : sim::Fault::none;
  }

  static std::string words(const DeviceCall& call) {
    const std::string what(call.what);
    switch (call.kind) {
      case DeviceCall::Kind::copy:
        return "copy " + what;
      case DeviceCall::Kind::launch:
        return what;
      case DeviceCall::Kind::graph_launch:
        return "graph";
      case DeviceCall::Kind::capture:
        return "capture " + what;
      case DeviceCall::Kind::synchronize:
        return "synchronize";
      default:
        return "other " + what;
    }
  }

  /// The calls of one step.
  std::vector<std::string> step(const std::vector<Slice>& slices) {
    calls_.clear();
    driver_->step(slices);
    return calls_;
  }
  static auto count(const std::vector<std::string>& calls, const std::string& call) {
    return std::count(calls.begin(), calls.end(), call);
  }

  Driver& driver() { return *driver_; }
  const gpu::GpuStatistics& statistics() { return executor_->statistics(); }

  std::unique_ptr<sim::SimDevice> device_;
  std::unique_ptr<Driver> driver_;
  gpu::GpuExecutor* executor_ = nullptr;
  std::vector<std::string> calls_;
  bool wait_fails_ = false;  // the next one, once
};

TEST_F(ExecutorCalls, a_decode_step_is_one_graph_and_one_wait) {
  create();
  driver().begin(1, request_of("abc"));
  driver().step({driver().decode(1)});
  driver().step({driver().decode(1)});
  EXPECT_THAT(step({driver().decode(1)}), ElementsAre("graph", "synchronize"));
}

TEST_F(ExecutorCalls, without_a_graph_a_step_is_one_upload_its_kernels_and_one_download) {
  create({.cache = {.num_blocks = 64, .block_size = 16}}, {.graphs = false});
  driver().begin(1, request_of("abc"));
  const auto calls = step({driver().decode(1)});
  EXPECT_EQ(calls.front(), "copy to_device");
  EXPECT_EQ(calls[calls.size() - 2], "copy to_host");
  EXPECT_EQ(calls.back(), "synchronize");
  EXPECT_EQ(count(calls, "copy to_device"), 1);
  EXPECT_EQ(count(calls, "copy to_host"), 1);
  EXPECT_EQ(count(calls, "project"), 4 * 4 + 1);
  EXPECT_EQ(count(calls, "rms_norm"), 2 * 4 + 1);
}

TEST_F(ExecutorCalls, a_step_that_was_started_is_only_waited_for) {
  create();
  driver().begin(1, request_of("abc"));
  driver().step({driver().decode(1)});
  driver().step({driver().decode(1)});
  std::vector<std::string> started;
  calls_.clear();
  driver().step({driver().decode(1)}, [&] { started = calls_; });
  EXPECT_THAT(started, ElementsAre("graph"));
  EXPECT_THAT(calls_, ElementsAre("graph", "synchronize"));
}

TEST_F(ExecutorCalls, without_overlap_the_host_waits_for_what_it_starts) {
  create({.cache = {.num_blocks = 64, .block_size = 16}}, {.overlap = false});
  driver().begin(1, request_of("abc"));
  driver().step({driver().decode(1)});
  driver().step({driver().decode(1)});
  std::vector<std::string> started;
  calls_.clear();
  driver().step({driver().decode(1)}, [&] { started = calls_; });
  EXPECT_THAT(started, ElementsAre("graph", "synchronize"));
  EXPECT_THAT(calls_, ElementsAre("graph", "synchronize"));
}

TEST_F(ExecutorCalls, a_graph_is_captured_once_for_each_bucket_of_batch_sizes) {
  create({.cache = {.num_blocks = 64, .block_size = 16}, .batch = {.max_batch_size = 40}});
  std::vector<std::uint64_t> rows_of_new_graphs;
  std::vector<Slice> slices;
  for (std::uint64_t seq = 1; seq <= 34; ++seq) {
    driver().begin(seq, request_of("a"));
    slices.clear();
    for (std::uint64_t s = 1; s <= seq; ++s) slices.push_back(driver().decode(s));
    const std::uint64_t before = statistics().graphs_captured;
    driver().step(slices);
    if (statistics().graphs_captured > before) rows_of_new_graphs.push_back(seq);
  }
  EXPECT_THAT(rows_of_new_graphs, ElementsAre(1, 2, 3, 5, 9, 17, 25, 33))
      << "buckets of 1, 2, 4, 8, 16, 24, 32 and 48";
  EXPECT_EQ(statistics().graph_steps, 34U);
}

TEST_F(ExecutorCalls, a_prompt_or_a_draft_or_a_copied_block_takes_no_graph) {
  create({.cache = {.num_blocks = 64, .block_size = 4}, .drafts = 2});
  driver().begin(1, request_of("the cat"));
  EXPECT_THAT(step({driver().decode(1)}), Not(Contains("graph")));
  EXPECT_THAT(step({driver().decode(1, 2)}), Not(Contains("graph")));
  driver().begin(2, request_of("the cat"));
  driver().share(2, 1, 1);
  driver().copy_prefix(2, 1, 2);
  EXPECT_THAT(step({driver().decode(2)}), AllOf(Contains("copy_blocks"), Not(Contains("graph"))));
  EXPECT_THAT(step({driver().decode(2)}), Contains("graph"));
}

TEST_F(ExecutorCalls, tables_are_written_only_when_a_sequence_has_a_new_block) {
  create({.cache = {.num_blocks = 64, .block_size = 4}}, {.graphs = false});
  driver().begin(1, request_of("abc"));
  std::vector<bool> written;
  for (int i = 0; i < 6; ++i) {
    written.push_back(count(step({driver().decode(1)}), "update_tables") > 0);
  }
  EXPECT_THAT(written, ElementsAre(true, false, true, false, false, false))
      << "positions 0 .. 2, 3, 4, ...";
}

TEST_F(ExecutorCalls, after_a_failure_tables_are_uploaded_whole_and_once) {
  create();
  driver().begin(1, request_of("abc"));
  driver().begin(2, request_of("xyz"));
  driver().step({driver().decode(1)});
  wait_fails_ = true;
  StepPlan plan;
  plan.step = StepId(7);
  plan.admitted = {{SeqId(2), 0}};
  plan.tables = {{SeqId(2), 0, 0, 1}};
  plan.appended_blocks = {BlockId(60)};
  plan.slices = {{SeqId(2), 0, 3, 0, true}};
  StepResult result;
  const auto failed = driver().executor().execute(plan, result);
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error().message, HasSubstr("step 7: "));
  EXPECT_FALSE(failed.error().target_lost);

  const auto step_of_first = [&](std::uint64_t number, std::uint32_t first) {
    StepPlan next;
    next.step = StepId(number);
    next.slices = {{SeqId(1), first, 1, 0, true}};
    calls_.clear();
    EXPECT_TRUE(driver().executor().execute(next, result).has_value());
    return calls_;
  };
  EXPECT_EQ(count(step_of_first(8, 3), "copy to_device"), 2) << "the step and the tables";
  EXPECT_THAT(step_of_first(9, 4), Contains("graph")) << "as ever";
}

TEST_F(ExecutorCalls, a_step_with_nothing_to_do_asks_nothing) {
  create();
  EXPECT_THAT(step({}), ElementsAre());
}

TEST_F(ExecutorCalls, long_contexts_of_few_rows_are_split_among_thread_blocks) {
  create({.cache = {.num_blocks = 64, .block_size = 16}}, {.graphs = false});
  driver().begin(1, request_of(std::string(300, 'x')));
  EXPECT_EQ(count(step({driver().decode(1)}), "attend_prompt"), 4);
  const auto calls = step({driver().decode(1)});
  EXPECT_EQ(count(calls, "attend_split"), 4);
  EXPECT_EQ(count(calls, "attend_merge"), 4);
  EXPECT_EQ(count(calls, "attend_decode"), 0);
  driver().begin(2, request_of("a"));
  driver().finish(1);
  EXPECT_EQ(count(step({driver().decode(2)}), "attend_decode"), 4);
}

TEST_F(ExecutorCalls, all_memory_is_taken_when_the_executor_is_created) {
  const executor::ExecutorOptions options{
      .cache = {.num_blocks = 32, .block_size = 4, .num_host_blocks = 8}, .drafts = 2};
  create(options);
  const std::uint64_t before = device_->statistics().bytes_allocated;
  const std::uint64_t most =
      device_->statistics().bytes_allocated_max;  // with weights on their way
  driver().begin(1, request_of("the cat sat"));
  driver().step({driver().chunk(1, 5)});
  driver().decode_to(1, 4, 2);
  driver().swap_out(1);
  driver().step({});
  driver().decode_to(1, 12);
  EXPECT_EQ(device_->statistics().bytes_allocated, before);
  EXPECT_EQ(device_->statistics().bytes_allocated_max, most);
  driver_.reset();
  EXPECT_EQ(device_->statistics().bytes_allocated, 0U);
}

TEST(GpuExecutorMemory, what_create_allocates_is_known_before) {
  for (const std::uint32_t drafts : {0U, 4U}) {
    executor::ExecutorOptions options{
        .cache = {.num_blocks = 300, .block_size = 4, .num_host_blocks = 5}};
    options.batch.max_batch_size = 7;
    options.drafts = drafts;
    testing::NullDevice device;
    const gpu::GpuModel model = seeded_gpu_model({.vocabulary_size = 333});
    ASSERT_TRUE(gpu::GpuExecutor::create(device, model, options).has_value());
    const gpu::MemoryBytes memory = gpu::GpuExecutor::memory(model, options).all();
    EXPECT_EQ(device.device_bytes, memory.device);
    EXPECT_EQ(device.pinned_bytes, memory.pinned);

    testing::NullDevice of_both;
    const gpu::GpuModel draft = seeded_gpu_model({.vocabulary_size = 300, .layers = 1});
    const gpu::GpuModels both(model, draft);
    ASSERT_TRUE(gpu::GpuExecutor::create(of_both, both, options).has_value());
    const gpu::MemoryBytes of_two = gpu::GpuExecutor::memory(both, options).all();
    EXPECT_EQ(of_both.device_bytes, of_two.device);
    EXPECT_EQ(of_both.pinned_bytes, of_two.pinned);
  }
}

/// A device whose kernels leave what its memory began with: that no row has a pick.
class PicklessDevice : public testing::NullDevice {
 public:
  tl::expected<gpu::Buffer, gpu::DeviceError> allocate(gpu::MemoryKind kind, std::size_t bytes,
                                                       const char* name) override {
    auto buffer = testing::NullDevice::allocate(kind, bytes, name);
    std::memset(buffer->as<std::byte>(), 0xff, bytes);
    return buffer;
  }
};

TEST(GpuExecutorAnswers, rows_without_a_pick_end_their_sequences_and_no_others) {
  PicklessDevice device;
  const executor::ExecutorOptions options{.cache = {.num_blocks = 64, .block_size = 4},
                                          .drafts = 2};
  Driver driver(
      [&](const executor::ExecutorOptions& of) {
        return *gpu::GpuExecutor::create(device, seeded_gpu_model(), of);
      },
      options);
  driver.begin(1, request_of("whole"));
  driver.begin(2, request_of("a part of it"));
  const StepResult& result = driver.step({driver.chunk(1, 5), driver.chunk(2, 4)});
  EXPECT_EQ(result.slices, (std::vector{SliceResult{SeqId(1), 0, 0, FinishSignal::not_finite, 0},
                                        SliceResult{SeqId(2), 0, 0, FinishSignal::none, 0}}));
  EXPECT_TRUE(result.tokens.empty());
}

}  // namespace
}  // namespace forge
