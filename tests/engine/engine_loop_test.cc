#include <gtest/gtest.h>
#include <time.h>

#include <future>

#include "engine/loop_fixture.h"

namespace forge::engine {
namespace {

using test::ask;
using test::Listener;
using Fixture = test::LoopFixture;

TEST(EngineLoop, sends_one_event_a_token_and_the_reason_with_the_last) {
  Fixture f("hello");
  Listener listener;
  f.submit(listener);
  const auto& events = listener.wait();
  ASSERT_EQ(events.size(), 6u);  // five bytes and eos
  EXPECT_EQ(listener.text(), "hello");
  EXPECT_EQ(events[0].completion_tokens, 1u);
  EXPECT_EQ(events[4].finish, FinishReason::none);
  EXPECT_EQ(events[5].finish, FinishReason::eos);
  EXPECT_EQ(events[5].completion_tokens, 6u);
}

TEST(EngineLoop, events_stay_one_a_token_when_a_step_yields_several) {
  Fixture f("hello");
  f.executor.drafts = 3;
  Listener listener;
  f.submit(listener);
  EXPECT_EQ(listener.wait().size(), 6u);
  EXPECT_EQ(listener.text(), "hello");
}

TEST(EngineLoop, max_new_tokens_ends_with_reason_length_and_flushes_half_characters) {
  Fixture f("\xC3\xA4\xC3\xA4");
  Listener listener;
  f.submit(listener, ask(3));
  EXPECT_EQ(listener.text(), "\xC3\xA4\xEF\xBF\xBD");
  EXPECT_EQ(listener.finish(), FinishReason::length);
}

TEST(EngineLoop, a_stop_string_ends_the_text_before_it_whatever_the_drafts) {
  for (const std::uint32_t drafts : {0u, 1u, 5u}) {
    Fixture f("one two three");
    f.executor.drafts = drafts;
    Listener listener;
    f.submit(listener, ask(), {.stop_strings = {"two", "e t"}});
    EXPECT_EQ(listener.text(), "on") << drafts;
    EXPECT_EQ(listener.finish(), FinishReason::stop);
    EXPECT_EQ(listener.wait().back().completion_tokens, 5u) << drafts;
    f.loop->drain();
    EXPECT_TRUE(f.all_blocks_are_back());
  }
}

TEST(EngineLoop, cancel_frees_the_blocks_within_a_step) {
  Fixture f("endless", 8, /*held=*/true);
  Listener listener;
  Request request = ask(200);
  request.ignore_eos = true;
  const TicketId ticket = f.submit(listener, request);
  f.executor.allow_only(1);
  listener.wait_for_first();
  f.loop->cancel(ticket);
  // One step may be waiting in the target already; the one after it retires the sequence.
  f.executor.allow_only(2);
  EXPECT_EQ(listener.finish(), FinishReason::cancelled);
  f.loop->drain();
  EXPECT_TRUE(f.all_blocks_are_back());
  EXPECT_LE(f.loop->status().steps, 3u);
}

TEST(EngineLoop, cancelling_twice_or_too_late_is_harmless) {
  Fixture f("hi");
  Listener listener;
  const TicketId ticket = f.submit(listener);
  listener.wait();
  f.loop->cancel(ticket);
  f.loop->cancel(ticket);
  f.loop->drain();
  EXPECT_EQ(listener.wait().size(), 3u);
}

TEST(EngineLoop, refuses_when_the_queue_is_full_and_takes_again_when_it_is_not) {
  Fixture f("hi", /*queue_limit=*/2, /*held=*/true);
  std::vector<Listener> listeners(9);
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (Listener& listener : listeners) {
    const auto ticket = f.loop->submit(ask(), {}, listener.sink());
    if (ticket) {
      ++accepted;
    } else {
      ++refused;
      EXPECT_EQ(std::get<QueueFull>(ticket.error()).limit, 2u);
      EXPECT_EQ(to_string(ticket.error()),
                "the queue has no room: 2 requests are waiting, accepted are up to 2");
    }
  }
  EXPECT_GE(accepted, 2u);
  EXPECT_GE(refused, 3u) << "at most a batch of four and a queue of two";
  f.executor.release();
  f.loop->drain();
}

TEST(EngineLoop, says_beforehand_what_it_would_refuse) {
  Fixture f("hi", /*queue_limit=*/5, /*held=*/true);
  f.executor.allow_only(1);
  const auto would_say = [&](std::size_t count) { return f.loop->would_accept(ask(), count); };
  EXPECT_TRUE(would_say(5));
  EXPECT_EQ(std::get<QueueFull>(would_say(6).error()).limit, 5u);
  const auto too_long = f.loop->would_accept(ask(100000), 1);
  EXPECT_TRUE(std::holds_alternative<SubmitError>(too_long.error()));

  // One that runs and, while its next step does not end, three that wait.
  std::vector<Listener> listeners(4);
  f.submit(listeners[0]);
  listeners[0].wait_for_first();
  for (std::size_t i = 1; i < 4; ++i) f.submit(listeners[i]);
  EXPECT_TRUE(would_say(2));
  EXPECT_EQ(to_string(would_say(3).error()),
            "the queue has no room: 3 requests are waiting, accepted are up to 5");
  f.executor.release();
  f.loop->drain();
  EXPECT_TRUE(std::holds_alternative<ShuttingDown>(would_say(1).error()));
}

TEST(EngineLoop, drain_finishes_what_is_there_and_refuses_the_rest) {
  Fixture f("hello", 8, /*held=*/true);
  Listener listener;
  f.submit(listener);
  auto drained = std::async(std::launch::async, [&] { f.loop->drain(); });
  Listener late;
  while (true) {  // the drain has begun once a submission is refused
    const auto ticket = f.loop->submit(ask(), {}, late.sink());
    if (ticket) {
      f.loop->cancel(*ticket);
      std::this_thread::yield();
      continue;
    }
    if (std::holds_alternative<ShuttingDown>(ticket.error())) break;
  }
  f.executor.release();
  drained.get();
  EXPECT_EQ(listener.text(), "hello");
}

TEST(EngineLoop, destruction_cancels_what_is_left) {
  auto f = std::make_unique<Fixture>("hello");
  Listener listener;
  Request request = ask(200);
  request.ignore_eos = true;
  f->executor.allow_only(0);
  f->submit(listener, request);
  f->executor.release();
  f.reset();
  EXPECT_NE(listener.finish(), FinishReason::none);
}

TEST(EngineLoop, a_failing_target_is_reported_and_counted_as_a_stall) {
  Fixture f("hello");
  f.executor.fail(true);
  std::vector<Listener> listeners(6);
  for (Listener& listener : listeners) f.submit(listener);
  for (Listener& listener : listeners) {
    EXPECT_EQ(listener.finish(), FinishReason::error);
    EXPECT_EQ(listener.wait().back().error,
              "the target failed while it ran this request: told to fail");
  }
  f.loop->drain();
  EXPECT_GE(f.loop->status().stalled_steps, 2u);
  EXPECT_TRUE(f.all_blocks_are_back());
}

TEST(EngineLoop, a_request_without_finite_logits_ends_with_its_place_and_the_others_go_on) {
  for (const std::uint32_t drafts : {0u, 3u}) {
    Fixture f("hello world", 8, /*held=*/true);
    f.executor.drafts = drafts;
    const Request at_fault = {.prompt = text::ByteTokenizer::tokens_of("bad"),
                              .max_new_tokens = 100};
    f.executor.overflows = [&](const Request& request, std::uint32_t produced) {
      return request.prompt == at_fault.prompt && produced == 5;
    };
    Listener before, fault, beside, after;
    f.submit(before);
    f.submit(fault, at_fault);
    f.submit(beside);
    f.executor.release();
    EXPECT_EQ(fault.text(), "hello");
    EXPECT_EQ(fault.finish(), FinishReason::error);
    EXPECT_EQ(fault.wait().back().completion_tokens, 5u);
    EXPECT_EQ(fault.wait().back().error,
              "the logits are not finite at position 8 of prompt and output: the model's "
              "arithmetic overflows on this text");
    f.submit(after);
    for (Listener* const other : {&before, &beside, &after}) {
      EXPECT_EQ(other->text(), "hello world");
      EXPECT_EQ(other->finish(), FinishReason::eos);
      EXPECT_EQ(other->wait().back().error, "");
    }
    f.loop->drain();
    EXPECT_TRUE(f.all_blocks_are_back());
    EXPECT_EQ(f.loop->status().stalled_steps, 0u) << "the target has run every step";
  }
}

TEST(EngineLoop, a_stop_string_before_logits_that_are_not_finite_ends_the_request_first) {
  Fixture f("hello world", 8, /*held=*/true);
  f.executor.drafts = 4;
  f.executor.overflows = [](const Request&, std::uint32_t produced) { return produced == 3; };
  Listener listener;
  f.submit(listener, ask(), {.stop_strings = {"llo"}});
  Listener stopped;
  f.submit(stopped, ask(), {.stop_strings = {"el"}});
  f.executor.release();
  EXPECT_EQ(listener.finish(), FinishReason::error);
  EXPECT_EQ(stopped.finish(), FinishReason::stop);
  EXPECT_EQ(stopped.text(), "h");
}

TEST(EngineLoop, prompts_that_take_many_steps_are_no_stall) {
  Fixture f("hi", 8, /*held=*/false,
            {.cache = {.num_blocks = 64, .block_size = 4},
             .batch = {.max_batch_size = 4},
             .prefill_chunk_size = 1});
  Listener listener;
  f.submit(listener, {.prompt = text::ByteTokenizer::tokens_of("a rather long prompt")});
  listener.wait();
  EXPECT_GE(f.loop->status().steps, 20u);
  EXPECT_EQ(f.loop->status().stalled_steps, 0u);
}

Request endless() {
  Request request = ask(200);
  request.ignore_eos = true;
  return request;
}

TEST(EngineLoop, a_time_limit_ends_a_request_that_runs) {
  Fixture f("endless", 8, /*held=*/true);
  Listener listener;
  f.submit(listener, endless(), {.time_limit = std::chrono::seconds(1)});
  f.executor.allow_only(3);
  listener.wait_for_first();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  f.executor.release();
  const auto& events = listener.wait();
  EXPECT_EQ(events.back().finish, FinishReason::deadline);
  EXPECT_GT(events.back().completion_tokens, 0u);
  EXPECT_LE(events.back().completion_tokens, 4u) << "those in time and the step that was under way";
  f.loop->drain();
  EXPECT_TRUE(f.all_blocks_are_back());
}

TEST(EngineLoop, a_time_limit_ends_a_request_that_waits) {
  Fixture f("endless", 8, /*held=*/false,
            {.cache = {.num_blocks = 64, .block_size = 4}, .batch = {.max_batch_size = 1}});
  f.executor.allow_only(1);
  Listener running, waiting;
  f.submit(running, endless());
  running.wait_for_first();
  f.submit(waiting, ask(), {.time_limit = std::chrono::milliseconds(10)});
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  f.executor.release();
  EXPECT_EQ(waiting.finish(), FinishReason::deadline);
  EXPECT_EQ(waiting.wait().back().completion_tokens, 0u);
  EXPECT_EQ(running.finish(), FinishReason::length);
}

TEST(EngineLoop, a_time_limit_that_passes_in_the_inbox_ends_the_request_before_it_runs) {
  Fixture f("endless", 8, /*held=*/true);
  Listener first, late;
  f.submit(first, endless());
  f.submit(late, ask(), {.time_limit = std::chrono::milliseconds(1)});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  f.executor.release();
  EXPECT_EQ(late.finish(), FinishReason::deadline);
  EXPECT_EQ(first.finish(), FinishReason::length);
}

TEST(EngineLoop, a_time_limit_that_is_not_reached_changes_nothing) {
  Fixture f("hello");
  Listener listener;
  f.submit(listener, ask(), {.time_limit = std::chrono::hours(24)});
  EXPECT_EQ(listener.text(), "hello");
  EXPECT_EQ(listener.finish(), FinishReason::eos);
}

TEST(EngineLoop, a_deadline_in_steps_ends_a_request_with_what_it_has) {
  Fixture f("endless");
  Request request = endless();
  request.deadline_steps = 5;
  Listener listener;
  f.submit(listener, request);
  EXPECT_EQ(listener.text(), "endle");
  EXPECT_EQ(listener.finish(), FinishReason::deadline);
  EXPECT_EQ(listener.wait().back().completion_tokens, 5u);
}

TEST(EngineLoop, events_say_how_much_of_the_prompt_was_cached) {
  Fixture f("hi");
  Listener first, second;
  f.submit(first);
  EXPECT_EQ(first.wait().back().cached_tokens, 0u);
  f.submit(second);
  EXPECT_EQ(second.wait().front().cached_tokens, 4u) << "one block of the six tokens of 'prompt'";
  EXPECT_EQ(second.wait().back().cached_tokens, 4u);
  EXPECT_EQ(f.loop->status().prefix_cache.hit_tokens, 4u);
}

TEST(EngineLoop, a_cleared_cache_has_nothing_for_the_next_request) {
  Fixture f("hi");
  Listener first, second;
  f.submit(first);
  first.wait();
  f.loop->drain();
  EXPECT_GT(f.loop->status().evictable_blocks, 0u);
  std::promise<EngineStatus> cleared;
  f.loop->clear_prefix_cache([&] { cleared.set_value(f.loop->status()); });
  EXPECT_EQ(cleared.get_future().get().free_blocks, 64u) << "already when the answer comes";
}

TEST(EngineLoop, a_session_is_known_until_it_is_released) {
  Fixture f("hi");
  const auto release = [&](std::uint64_t session) {
    std::promise<bool> known;
    f.loop->release_session(SessionId(session), [&](bool answer) { known.set_value(answer); });
    return known.get_future().get();
  };
  Request request = ask();
  request.session = SessionId(7);
  Listener listener;
  f.submit(listener, request);
  listener.wait();
  EXPECT_FALSE(release(8));
  EXPECT_TRUE(release(7));
  EXPECT_FALSE(release(7)) << "it has ended";
  f.loop->drain();
  EXPECT_EQ(f.loop->status().sessions, 0u);
  EXPECT_TRUE(f.all_blocks_are_back());
}

TEST(EngineLoop, status_tells_preemptions_by_swap_apart) {
  SchedulerConfig config{.cache = {.num_blocks = 12, .block_size = 1, .num_host_blocks = 12}};
  config.preemption = PreemptionPolicy::swap;
  config.prefix_cache = PrefixCacheKind::none;
  Fixture f("endless", 8, /*held=*/true, config);
  std::vector<Listener> listeners(2);
  for (Listener& listener : listeners)
    f.submit(listener, {.prompt = {TokenId(1)}, .max_new_tokens = 9});
  f.executor.release();
  for (Listener& listener : listeners) EXPECT_EQ(listener.text(), "endless");
  f.loop->drain();
  EXPECT_GT(f.loop->status().swaps, 0u);
  EXPECT_EQ(f.loop->status().swapped, 0u);
  EXPECT_EQ(f.loop->status().free_host_blocks, 12u);
}

TEST(EngineLoop, sleeps_when_idle) {
  Fixture f("hi");
  Listener listener;
  f.submit(listener);
  f.loop->drain();
  const std::uint64_t steps = f.loop->status().steps;
  timespec before{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  timespec after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double busy_ms =
      1e3 * double(after.tv_sec - before.tv_sec) + 1e-6 * double(after.tv_nsec - before.tv_nsec);
  EXPECT_LT(busy_ms, 100.0) << "of 200 ms";
  EXPECT_EQ(f.loop->status().steps, steps);
}

TEST(EngineLoop, many_threads_share_one_batch) {
  Fixture f("hello", 1000);
  std::vector<std::future<std::string>> texts;
  for (int i = 0; i < 40; ++i) {
    texts.push_back(std::async(std::launch::async, [&] {
      Listener listener;
      f.submit(listener);
      return listener.text();
    }));
  }
  for (auto& text : texts) EXPECT_EQ(text.get(), "hello");
}

}  // namespace
}  // namespace forge::engine
