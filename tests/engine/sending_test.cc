// When the loop sends the events of a step.
#include <gtest/gtest.h>

#include <array>
#include <vector>

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

TEST(Sending, who_submits_hears_once_that_a_request_has_a_place_in_the_batch) {
  // Blocks for one of two requests, places for two of three.
  constexpr SchedulerConfig kTight{.cache = {.num_blocks = 12, .block_size = 4},
                                   .batch = {.max_batch_size = 2},
                                   .preemption = PreemptionPolicy::recompute,
                                   .prefix_cache = PrefixCacheKind::none};
  test::LoopFixture f("endless", 8, /*held=*/true, kTight);
  std::array<int, 3> heard{};
  std::array<Listener, 3> listeners;
  std::vector<TicketId> tickets;
  Request request = ask(30);
  request.ignore_eos = true;
  for (std::size_t i = 0; i < heard.size(); ++i) {
    tickets.push_back(
        f.submit(listeners[i], request, {.on_admitted = [&heard, i] { ++heard[i]; }}));
  }
  f.loop->cancel(tickets[2]);  // before it has one
  f.executor.release();
  f.loop->drain();
  EXPECT_GT(f.loop->status().preemptions, 0U);
  EXPECT_EQ(heard, (std::array{1, 1, 0}));
}

}  // namespace
}  // namespace forge::engine
