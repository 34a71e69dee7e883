// A target that is lost: requests end with an error, nothing is accepted any more, everything
// comes free, and the loop can still be asked, drained and destroyed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "engine/loop_fixture.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_reader.h"
#include "forge/trace/trace_writer.h"

namespace forge::engine {
namespace {

using test::ask;
using test::FakeExecutor;
using test::Listener;
using test::LoopFixture;
using test::says;

using ::testing::AnyOf;

/// In the step that failed, or before one.
const auto kSaysThatTheTargetIsLost =
    AnyOf("the target failed while it ran this request: told to be lost",
          "the target is lost and runs nothing any more: told to be lost");

Request endless_request() {
  Request request = ask(200);
  request.ignore_eos = true;
  return request;
}

TEST(Engine, says_when_its_target_is_lost_and_not_when_a_step_failed) {
  FakeExecutor executor(says("hello"));
  executor.failing_steps = {0};
  Engine engine(test::kLoopConfig, executor);
  ASSERT_TRUE(engine.submit(ask()));
  engine.step();
  EXPECT_FALSE(engine.target_lost());
  executor.lose();
  ASSERT_TRUE(engine.submit(ask()));
  engine.step();
  EXPECT_TRUE(engine.target_lost());
  EXPECT_EQ(engine.last_error(), "told to be lost");
}

TEST(TargetLost, ends_all_requests_whether_they_run_or_wait) {
  LoopFixture f("endless", 8, /*held=*/true);
  std::vector<Listener> listeners(6);  // four of them fit into the batch
  for (Listener& listener : listeners) f.submit(listener, endless_request());
  f.executor.allow_only(2);
  listeners[0].wait_for_first();
  f.executor.lose();
  f.executor.release();
  for (Listener& listener : listeners) {
    EXPECT_EQ(listener.finish(), FinishReason::error);
    EXPECT_THAT(listener.wait().back().error, kSaysThatTheTargetIsLost);
  }
}

TEST(TargetLost, later_submissions_are_refused_with_what_the_target_said) {
  LoopFixture f("hello");
  f.executor.lose();
  Listener first, second;
  f.submit(first);
  first.wait();
  const auto ticket = f.loop->submit(ask(), {}, second.sink());
  ASSERT_FALSE(ticket.has_value());
  EXPECT_EQ(std::get<TargetLost>(ticket.error()).reason, "told to be lost");
  EXPECT_EQ(to_string(ticket.error()),
            "the target is lost and runs nothing any more: told to be lost");
  EXPECT_EQ(f.loop->status().target_lost, "told to be lost");
}

TEST(TargetLost, a_submission_that_was_on_its_way_ends_with_an_error) {
  // Both are accepted before the first step has failed; the second has not reached the engine.
  LoopFixture f("hello", 8, /*held=*/true);
  Listener first, second;
  f.submit(first);
  f.executor.lose();
  f.submit(second);
  f.executor.release();
  EXPECT_EQ(first.finish(), FinishReason::error);
  EXPECT_EQ(second.finish(), FinishReason::error);
  EXPECT_THAT(second.wait().back().error, kSaysThatTheTargetIsLost);
}

TEST(TargetLost, everything_comes_free_and_the_loop_drains) {
  LoopFixture f("hi", 8, /*held=*/true);
  Listener cached, lost;
  Request request = ask();
  request.session = SessionId(7);
  f.submit(cached, request);
  f.submit(lost, endless_request());
  f.executor.allow_only(3);  // "h", "i", eos
  cached.wait();
  f.executor.lose();
  f.executor.release();
  lost.wait();
  f.loop->drain();
  const EngineStatus status = f.loop->status();
  EXPECT_EQ(status.free_blocks, status.total_blocks) << "cached prefixes are given up too";
  EXPECT_EQ(status.sessions, 0U);
  EXPECT_EQ(status.running + status.waiting, 0U);
  EXPECT_EQ(f.executor.known_sequences(), 0U);
}

TEST(TargetLost, the_trace_tells_what_happened_to_the_end) {
  std::stringstream out;
  FakeExecutor executor(says("hello"));
  trace::TraceWriter trace(out, {.scheduler = test::kLoopConfig});
  const text::ByteTokenizer tokenizer;
  Engine engine(test::kLoopConfig, executor, &trace);
  {
    EngineLoop loop(engine, tokenizer, EngineLoop::Options{});
    executor.allow_only(0);
    Listener listener;
    ASSERT_TRUE(loop.submit(endless_request(), {}, listener.sink()));
    executor.lose();
    executor.release();
    listener.wait();
    loop.drain();
  }
  auto reader = trace::TraceReader::open(out);
  ASSERT_TRUE(reader.has_value());
  std::size_t errors = 0;
  while (const auto event = reader->next().value()) {
    if (const auto* step = std::get_if<trace::StepEvent>(&*event)) {
      for (const Finish& finish : step->plan.finished) {
        errors += finish.reason == FinishReason::error ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(errors, 1U);
}

}  // namespace
}  // namespace forge::engine
