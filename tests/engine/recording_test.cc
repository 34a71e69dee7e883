// The loop and its trace: what is in it when, and what happens when it cannot be written.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "engine/loop_fixture.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_writer.h"

namespace forge::engine {
namespace {

using test::ask;
using test::FakeExecutor;
using test::Listener;
using test::says;

/// What has been handed to the system, and what has not. Lines from number `failing` on do not get
/// there. Of the loop thread.
class TestOutput : public trace::TraceOutput {
 public:
  explicit TestOutput(std::size_t failing = ~std::size_t{0}) : failing_(failing) {}

  Written write(std::string_view line) override {
    kept_ += line;
    return {};
  }
  Written flush() override {
    const auto lines = std::count(kept_.begin(), kept_.end(), '\n');
    lines_ += static_cast<std::size_t>(lines);
    if (lines_ >= failing_) return tl::unexpected(std::string("told to fail"));
    flushed_ += kept_;
    kept_.clear();
    return {};
  }

  bool has_step(std::uint64_t step) const {
    return flushed_.find("{\"step\":{\"step\":" + std::to_string(step) + ",") != std::string::npos;
  }
  bool has(std::string_view text) const { return flushed_.find(text) != std::string::npos; }

 private:
  std::size_t failing_;
  std::size_t lines_ = 0;
  std::string kept_;
  std::string flushed_;
};

/// A loop over a fake target that is recorded into a TestOutput.
struct RecordedLoop {
  explicit RecordedLoop(std::size_t failing = ~std::size_t{0})
      : output(failing),
        trace(output, {.scheduler = test::kLoopConfig}),
        executor(says("hello")),
        engine(test::kLoopConfig, executor, &trace),
        loop(std::make_unique<EngineLoop>(engine, tokenizer, EngineLoop::Options{})) {}

  TestOutput output;
  trace::TraceWriter trace;
  FakeExecutor executor;
  text::ByteTokenizer tokenizer;
  Engine engine;
  std::unique_ptr<EngineLoop> loop;
};

TEST(Recording, a_step_is_in_the_trace_before_its_token_is_sent) {
  RecordedLoop f;
  std::promise<void> ended;
  std::uint64_t tokens = 0;
  ASSERT_TRUE(f.loop->submit(ask(), {}, [&](const TokenEvent& event) {
    EXPECT_TRUE(f.output.has_step(tokens)) << tokens;
    EXPECT_FALSE(f.output.has_step(tokens + 1));
    ++tokens;
    if (event.finish != FinishReason::none) ended.set_value();
  }));
  ended.get_future().wait();
  EXPECT_EQ(tokens, 6U);
}

TEST(Recording, a_loop_that_goes_to_sleep_has_written_everything) {
  RecordedLoop f;
  Listener listener;
  Request turn = ask();
  turn.session = SessionId{5};
  ASSERT_TRUE(f.loop->submit(turn, {}, listener.sink()));
  f.loop->drain();
  std::promise<void> cleared;
  f.loop->clear_prefix_cache([&] { cleared.set_value(); });
  cleared.get_future().wait();
  // The task after it runs when the loop has slept, or would have.
  std::promise<bool> is_written;
  f.loop->release_session(SessionId{6}, [&](bool) {
    is_written.set_value(f.output.has("{\"clear_prefix_cache\":{}}\n{\"step\":") &&
                         f.output.has("\"cache\":{\"cleared\":true}"));
  });
  EXPECT_TRUE(is_written.get_future().get());
}

TEST(Recording, the_status_counts_the_steps_that_are_in_the_trace) {
  RecordedLoop f;
  EXPECT_EQ(f.loop->status().trace->steps, 0U);
  Listener listener;
  ASSERT_TRUE(f.loop->submit(ask(), {}, listener.sink()));
  f.loop->drain();
  const EngineStatus status = f.loop->status();
  EXPECT_EQ(status.trace->steps, status.steps);
  EXPECT_EQ(status.trace->failure, std::nullopt);
}

TEST(Recording, a_write_that_fails_shows_in_the_status_and_nowhere_else) {
  constexpr std::size_t kHeaderSubmissionAndTwoSteps = 4;
  RecordedLoop f(kHeaderSubmissionAndTwoSteps + 1);
  Listener listener;
  f.executor.allow_only(3);
  ASSERT_TRUE(f.loop->submit(ask(), {}, listener.sink()));
  listener.wait_for(3);
  EngineStatus status = f.loop->status();
  EXPECT_EQ(status.trace->failure, "told to fail") << "while the request is running";
  EXPECT_EQ(status.trace->steps, 2U);
  f.executor.release();
  EXPECT_EQ(listener.text(), "hello");
  f.loop->drain();
  status = f.loop->status();
  EXPECT_GT(status.steps, 3U);
  EXPECT_EQ(status.trace->steps, 2U);
  EXPECT_FALSE(status.target_lost);
}

TEST(Recording, a_run_without_a_trace_has_no_status_of_one) {
  test::LoopFixture f("hello");
  EXPECT_EQ(f.loop->status().trace, std::nullopt);
}

}  // namespace
}  // namespace forge::engine
