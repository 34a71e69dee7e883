// When the loop sends the events of a step.
#include <gtest/gtest.h>

#include "engine/loop_fixture.h"

namespace forge::engine {
namespace {

using test::ask;
using test::Listener;

TEST(Sending, events_are_sent_while_the_target_works_on_the_next_step) {
  test::LoopFixture f("hello", 8, /*held=*/true);
  Listener listener;
  f.submit(listener);
  for (std::size_t steps = 1; steps <= 6; ++steps) {
    f.executor.allow_only(1);
    listener.wait_for(steps);  // although the target holds the step after, if there is one
  }
  EXPECT_EQ(listener.text(), "hello");
}

TEST(Sending, a_stop_string_ends_a_request_before_its_next_step_is_planned) {
  test::LoopFixture f("one two three");
  Listener listener;
  f.submit(listener, ask(), {.stop_strings = {"e"}});
  EXPECT_EQ(listener.text(), "on");
  f.loop->drain();
  EXPECT_EQ(f.loop->status().generated_tokens, 3U);
}

}  // namespace
}  // namespace forge::engine
