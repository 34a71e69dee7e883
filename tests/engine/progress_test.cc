// What tells from outside that the loop gets on, or that it does not end.
#include <gtest/gtest.h>

#include "engine/loop_fixture.h"

namespace forge::engine {
namespace {

using test::ask;
using test::Listener;

TEST(EngineProgress, grows_with_each_step_and_with_the_heartbeat_of_a_target) {
  test::FakeExecutor executor(test::says("hello"));
  executor.allow_only(0);
  const text::ByteTokenizer tokenizer;
  Engine engine(test::kLoopConfig, executor);
  Heartbeat heartbeat;
  EngineLoop loop(engine, tokenizer, {.heartbeat = &heartbeat});
  Listener listener;
  ASSERT_TRUE(loop.submit(ask(), {}, listener.sink()));
  EXPECT_EQ(loop.progress(), 0U) << "the first step does not end";
  heartbeat.beat();
  EXPECT_EQ(loop.progress(), 1U);
  executor.release();
  loop.drain();
  EXPECT_GE(loop.status().steps, 6U);
  EXPECT_EQ(loop.progress(), 1 + loop.status().steps);
}

TEST(EngineProgress, a_drain_with_a_limit_says_whether_all_has_ended) {
  test::LoopFixture f("hello", 8, /*held=*/true);
  Listener listener;
  f.submit(listener);
  EXPECT_FALSE(f.loop->drain(std::chrono::milliseconds(1)));
  f.executor.release();
  EXPECT_TRUE(f.loop->drain(std::chrono::minutes(1)));
}

}  // namespace
}  // namespace forge::engine
