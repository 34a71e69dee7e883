#include "forge/engine/engine.h"

#include <gtest/gtest.h>

#include <sstream>

#include "engine/fake_executor.h"
#include "forge/trace/replay.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_writer.h"

namespace forge::engine {
namespace {

using test::FakeExecutor;
using test::says;

constexpr SchedulerConfig kConfig{.cache = {.num_blocks = 16, .block_size = 4},
                                  .batch = {.max_batch_size = 4}};

Request ask(std::string_view prompt, std::uint32_t max_new_tokens) {
  return {.prompt = text::ByteTokenizer::tokens_of(prompt), .max_new_tokens = max_new_tokens};
}

std::map<std::uint64_t, std::string> run(Engine& engine) {
  std::map<std::uint64_t, std::string> texts;
  while (engine.has_work()) {
    const auto [plan, result] = engine.step();
    for (const SliceResult& slice : result.slices) {
      texts[slice.seq.value] += text::ByteTokenizer().decode(result.tokens_of(slice));
    }
  }
  return texts;
}

TEST(Engine, runs_requests_to_their_end) {
  FakeExecutor executor(says("hello"));
  Engine engine(kConfig, executor);
  ASSERT_TRUE(engine.submit(ask("a", 3)));
  ASSERT_TRUE(engine.submit(ask("b", 30)));
  EXPECT_EQ(run(engine), (std::map<std::uint64_t, std::string>{{1, "hel"}, {2, "hello"}}));
  EXPECT_EQ(executor.known_sequences(), 0u) << "the target forgets what has finished";
}

TEST(Engine, gives_the_time_in_which_the_target_works_to_others) {
  std::vector<std::string> order;
  class Target : public FakeExecutor {
   public:
    explicit Target(std::vector<std::string>& order) : order_(order) {}
    void start(const StepPlan& plan) override {
      started_ = plan.step;
      order_.emplace_back("start");
    }
    tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
      EXPECT_EQ(plan.step, started_);
      order_.emplace_back("execute");
      return FakeExecutor::execute(plan, result);
    }

   private:
    std::vector<std::string>& order_;
    StepId started_;
  };
  Target target(order);
  Engine engine(kConfig, target);
  ASSERT_TRUE(engine.submit(ask("a", 3)));
  engine.step([&] { order.emplace_back("meanwhile"); });
  EXPECT_EQ(order, (std::vector<std::string>{"start", "meanwhile", "execute"}));
}

TEST(Engine, a_refused_request_reaches_neither_target_nor_trace) {
  FakeExecutor executor(says("hello"));
  std::ostringstream out;
  trace::TraceWriter trace(out, {.scheduler = kConfig});
  Engine engine(kConfig, executor, &trace);
  const auto before = out.str();
  EXPECT_FALSE(engine.submit(ask("a", 1000)).has_value());
  EXPECT_EQ(executor.known_sequences(), 0u);
  EXPECT_EQ(out.str(), before);
}

TEST(Engine, a_failing_target_ends_the_sequences_of_its_step_and_the_engine_goes_on) {
  FakeExecutor executor(says("hello"));
  executor.failing_steps = {1};
  Engine engine({.cache = {.num_blocks = 16, .block_size = 4}, .batch = {.max_batch_size = 1}},
                executor);
  ASSERT_TRUE(engine.submit(ask("a", 9)));
  ASSERT_TRUE(engine.submit(ask("b", 9)));
  EXPECT_EQ(run(engine), (std::map<std::uint64_t, std::string>{{1, "h"}, {2, "hello"}}));
  EXPECT_EQ(engine.last_error(), "told to fail");
  EXPECT_EQ(engine.scheduler().cache().sequence_count(), 0u);
}

TEST(Engine, a_swap_of_a_step_that_failed_is_not_relied_on) {
  SchedulerConfig config{.cache = {.num_blocks = 12, .block_size = 1, .num_host_blocks = 12}};
  config.preemption = PreemptionPolicy::swap;
  config.prefix_cache = PrefixCacheKind::none;
  const auto swaps_in_of_run = [&config](std::set<std::uint64_t> failing_steps) {
    FakeExecutor executor(says("endless"));
    executor.failing_steps = std::move(failing_steps);
    Engine engine(config, executor);
    EXPECT_TRUE(engine.submit(ask("a", 9)));
    EXPECT_TRUE(engine.submit(ask("b", 9)));
    std::optional<std::uint64_t> swap_step;
    std::vector<std::uint32_t> cached;
    while (engine.has_work()) {
      const auto [plan, result] = engine.step();
      if (!plan.preempted.empty()) {
        EXPECT_EQ(plan.preempted, (std::vector{Preemption{SeqId(2), PreemptionMode::swap}}));
        swap_step = plan.step.value;
      }
      for (const Admission& admission : plan.resumed) cached.push_back(admission.cached_tokens);
    }
    return std::pair(swap_step.value(), cached);
  };
  const auto [swap_step, cached] = swaps_in_of_run({});
  ASSERT_EQ(cached.size(), 1U);
  EXPECT_GT(cached[0], 0U);
  EXPECT_EQ(swaps_in_of_run({swap_step}).second, std::vector<std::uint32_t>{0});
}

TEST(Engine, a_recorded_run_replays_to_the_same_digest) {
  std::stringstream out;
  FakeExecutor executor(says("hello"));
  executor.drafts = 2;
  trace::TraceWriter trace(out, {.scheduler = kConfig});
  Engine engine(kConfig, executor, &trace);
  ASSERT_TRUE(engine.submit(ask("a", 9)));
  ASSERT_TRUE(engine.submit(ask("b", 9)));
  engine.step();
  ASSERT_TRUE(engine.cancel(SeqId{1}));
  run(engine);
  Request turn = ask("a conversation", 9);
  turn.session = SessionId{5};
  ASSERT_TRUE(engine.submit(turn));
  run(engine);
  ASSERT_TRUE(engine.release_session(SessionId{5}));
  EXPECT_FALSE(engine.release_session(SessionId{5}).has_value()) << "and is not recorded again";
  engine.clear_prefix_cache();
  ASSERT_TRUE(engine.submit(ask("a conversation", 9)));
  run(engine);

  FakeExecutor fresh(says("hello"));
  fresh.drafts = 2;
  auto reader = trace::TraceReader::open(out);
  ASSERT_TRUE(reader.has_value());
  const auto report = replay(*reader, fresh, text::ByteTokenizer::kVocabularySize);
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->difference.has_value());
  EXPECT_EQ(report->digest, trace.digest());
}

}  // namespace
}  // namespace forge::engine
