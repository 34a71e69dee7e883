// What is counted of steps and requests: alone, with times that the test sets, and by the loop.
#include "forge/engine/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "engine/loop_fixture.h"

namespace forge::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr std::array kEdges{1., 2., 5.};

std::uint64_t count(const HistogramView& view) {
  return std::accumulate(view.counts.begin(), view.counts.end(), std::uint64_t{0});
}

/// The edge of the bucket that holds all values of a histogram.
double only_edge(const HistogramView& view) {
  for (std::size_t i = 0; i < view.edges.size(); ++i) {
    if (view.counts[i] > 0) return view.counts[i] == count(view) ? view.edges[i] : -1;
  }
  return -1;
}

TEST(Histogram, a_value_equal_to_an_edge_is_below_it_and_beyond_all_edges_is_a_bucket) {
  Histogram<kEdges> histogram;
  for (const double value : {0.0, 1.0, 1.5, 2.0, 5.0, 5.1, 1e9}) histogram.add(value);
  EXPECT_THAT(histogram.view().counts, ElementsAre(2, 2, 1, 2));
  EXPECT_THAT(histogram.view().edges, ElementsAre(1, 2, 5));
  EXPECT_EQ(histogram.view().sum, 1e9 + 14.6);
}

TEST(Histogram, a_copy_is_of_its_own) {
  Histogram<kEdges> histogram;
  const Histogram<kEdges> before = histogram;
  histogram.add(1);
  EXPECT_THAT(before.view().counts, Each(0));
  EXPECT_EQ(before.view().sum, 0);
}

/// A clock that the test sets, in seconds.
TimePoint at(double seconds) {
  return TimePoint() +
         std::chrono::duration_cast<TimePoint::duration>(std::chrono::duration<double>(seconds));
}

constexpr SeqId kSeq{1};

/// A slice of [first, first + count) that yields so many tokens.
void run(EngineMetrics& metrics, RequestProgress& request, std::uint32_t first, std::uint32_t count,
         std::uint32_t tokens, double when) {
  metrics.add_slice(request, {.seq = kSeq, .first = first, .count = count},
                    {.seq = kSeq, .token_count = tokens}, at(when));
  request.completion_tokens += tokens;
}

/// Arrives at 1, is submitted at 2, admitted at 5.
RequestProgress admitted(std::uint32_t prompt_tokens, std::uint32_t cached_tokens) {
  RequestProgress request{
      .arrival = at(1), .submitted = at(2), .prompt_tokens = prompt_tokens, .max_new_tokens = 100};
  request.admit(cached_tokens, at(5));
  return request;
}

TEST(EngineMetrics, a_request_leaves_each_interval_once) {
  EngineMetrics metrics;
  RequestProgress request = admitted(20, 8);
  run(metrics, request, 8, 6, 0, 6);   // half of the prompt
  run(metrics, request, 14, 6, 1, 9);  // the first token
  run(metrics, request, 20, 1, 1, 13);
  run(metrics, request, 21, 1, 1, 21);
  metrics.add_end(request, FinishReason::eos, at(22));

  EXPECT_EQ(metrics.time_to_first_token.view().sum, 9 - 1);
  EXPECT_EQ(metrics.time_between_tokens.view().sum, (13 - 9) + (21 - 13));
  EXPECT_EQ(count(metrics.time_between_tokens.view()), 2U);
  EXPECT_EQ(metrics.queue.view().sum, 5 - 2);
  EXPECT_EQ(metrics.prefill.view().sum, 9 - 5);
  EXPECT_EQ(metrics.decode.view().sum, 21 - 9);
  EXPECT_EQ(metrics.inference.view().sum, 21 - 5);
  EXPECT_EQ(metrics.end_to_end.view().sum, 22 - 1);
  EXPECT_EQ(metrics.time_per_token.view().sum, (21 - 9) / 2.0);
  EXPECT_EQ(only_edge(metrics.end_to_end.view()), 30);
  EXPECT_EQ(metrics.prompt_tokens, 20U);
  EXPECT_EQ(metrics.cached_prompt_tokens, 8U);
  EXPECT_EQ(metrics.repeated_prompt_tokens, 0U);
  EXPECT_EQ(only_edge(metrics.prompt_length.view()), 20);
  EXPECT_EQ(metrics.prompt_tokens_run.view().sum, 12);
  EXPECT_EQ(metrics.completion_length.view().sum, 3);
  EXPECT_EQ(metrics.max_new_tokens.view().sum, 100);
  EXPECT_THAT(metrics.ended, ElementsAre(0, 0, 1, 0, 0, 0, 0));
}

TEST(EngineMetrics, tokens_of_one_step_arrive_together) {
  EngineMetrics metrics;
  RequestProgress request = admitted(4, 0);
  run(metrics, request, 0, 4, 1, 6);
  run(metrics, request, 4, 4, 4, 8);  // three drafts that were kept
  metrics.add_end(request, FinishReason::length, at(8));
  EXPECT_EQ(count(metrics.time_between_tokens.view()), 1U);
  EXPECT_EQ(metrics.time_between_tokens.view().sum, 2);
  EXPECT_EQ(metrics.time_per_token.view().sum, 0.5);
}

TEST(EngineMetrics, a_preemption_stays_in_the_interval_that_it_hits) {
  EngineMetrics metrics;
  RequestProgress request = admitted(10, 0);
  run(metrics, request, 0, 10, 1, 6);
  run(metrics, request, 10, 1, 1, 7);
  // Out of the batch, and back with nothing; its 12 known tokens run again.
  run(metrics, request, 0, 8, 0, 30);
  run(metrics, request, 8, 4, 1, 31);
  metrics.add_end(request, FinishReason::length, at(31));
  EXPECT_EQ(metrics.repeated_prompt_tokens, 10U);
  EXPECT_EQ(metrics.prompt_tokens, 10U) << "counted once";
  EXPECT_EQ(metrics.queue.view().sum, 5 - 2);
  EXPECT_EQ(metrics.decode.view().sum, 31 - 6);
  EXPECT_EQ(metrics.time_between_tokens.view().sum, 31 - 6);
}

TEST(EngineMetrics, a_prompt_that_is_preempted_half_way_repeats_what_had_run) {
  EngineMetrics metrics;
  RequestProgress request = admitted(10, 0);
  run(metrics, request, 0, 6, 0, 6);
  run(metrics, request, 4, 6, 1, 9);  // comes back behind a prefix of 4
  EXPECT_EQ(metrics.repeated_prompt_tokens, 2U);
}

TEST(EngineMetrics, an_interval_that_was_not_begun_is_not_counted) {
  EngineMetrics metrics;
  const RequestProgress waiting{.arrival = at(1), .submitted = at(2), .prompt_tokens = 3};
  metrics.add_end(waiting, FinishReason::deadline, at(4));
  EXPECT_EQ(metrics.end_to_end.view().sum, 3);
  EXPECT_EQ(count(metrics.queue.view()), 0U);

  RequestProgress admitted_only = admitted(3, 0);
  metrics.add_end(admitted_only, FinishReason::cancelled, at(6));
  EXPECT_EQ(count(metrics.queue.view()), 1U);
  EXPECT_EQ(count(metrics.prefill.view()), 0U);
  EXPECT_EQ(metrics.prompt_tokens, 0U);

  RequestProgress one_token = admitted(3, 0);
  run(metrics, one_token, 0, 3, 1, 6);
  metrics.add_end(one_token, FinishReason::length, at(6));
  EXPECT_EQ(count(metrics.decode.view()), 1U);
  EXPECT_EQ(count(metrics.time_per_token.view()), 0U);
}

TEST(EngineMetrics, a_step_has_its_times_its_tokens_and_its_drafts_by_place) {
  EngineMetrics metrics;
  StepPlan plan;
  plan.slices = {{.seq = SeqId(1), .first = 9, .count = 4, .drafts = 3, .samples = true},
                 {.seq = SeqId(2), .first = 9, .count = 3, .drafts = 2, .samples = true},
                 {.seq = SeqId(3), .first = 0, .count = 50}};
  StepResult result;
  result.slices = {{.seq = SeqId(1), .token_count = 3},
                   {.seq = SeqId(2), .token_count = 0, .signal = FinishSignal::error},
                   {.seq = SeqId(3)}};
  metrics.add_step(plan, result, {at(1), at(1.5), at(3.5), at(4)});
  EXPECT_EQ(metrics.tokens_of_step.view().sum, 57);
  EXPECT_EQ(metrics.step_time.view().sum, 3);
  EXPECT_EQ(metrics.schedule_time.view().sum, 0.5);
  EXPECT_EQ(metrics.execute_time.view().sum, 2);
  EXPECT_EQ(metrics.last_step, at(4));
  EXPECT_EQ(metrics.drafts.rounds, 2U);
  EXPECT_EQ(metrics.drafts.proposed, 5U);
  EXPECT_EQ(metrics.drafts.accepted, 2U);
  EXPECT_EQ(metrics.drafts.places, 3U);
  EXPECT_EQ(std::vector(metrics.drafts.accepted_at.begin(), metrics.drafts.accepted_at.begin() + 3),
            (std::vector<std::uint64_t>{1, 1, 0}));
}

TEST(EngineLoopMetrics, who_has_an_event_finds_it_counted) {
  test::LoopFixture f("hello");
  for (std::uint64_t requests = 1; requests <= 20; ++requests) {
    test::Listener listener;
    f.submit(listener);
    listener.wait();
    const EngineMetrics metrics = f.loop->metrics();
    EXPECT_EQ(metrics.ended[static_cast<std::size_t>(FinishReason::eos)], requests);
    EXPECT_EQ(metrics.prompt_tokens, 6 * requests);
    EXPECT_EQ(metrics.completion_length.view().sum, 6.0 * static_cast<double>(requests));
    EXPECT_EQ(count(metrics.time_to_first_token.view()), requests);
    EXPECT_EQ(count(metrics.time_between_tokens.view()), 5 * requests);
  }
  f.loop->drain();
  EXPECT_EQ(count(f.loop->metrics().tokens_of_step.view()), f.loop->status().steps);
}

TEST(EngineLoopMetrics, a_request_counts_from_the_arrival_of_its_text) {
  test::LoopFixture f("hi");
  test::Listener listener;
  const TimePoint arrival = std::chrono::steady_clock::now() - std::chrono::hours(1);
  f.submit(listener, test::ask(), {.arrival = arrival});
  listener.wait();
  const EngineMetrics metrics = f.loop->metrics();
  EXPECT_GE(metrics.time_to_first_token.view().sum, 3600);
  EXPECT_GE(metrics.end_to_end.view().sum, 3600);
  EXPECT_LT(metrics.queue.view().sum, 3600);
}

TEST(EngineLoopMetrics, a_request_ends_once_whatever_ends_it) {
  test::LoopFixture f("endless", 8, /*held=*/true);
  Request endless = test::ask(200);
  endless.ignore_eos = true;
  test::Listener cancelled, late, stopped;
  const TicketId ticket = f.submit(cancelled, endless);
  f.submit(late, endless, {.time_limit = std::chrono::milliseconds(1)});
  f.loop->cancel(ticket);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the limit of `late` is over
  f.executor.release();
  late.wait();
  cancelled.wait();
  f.submit(stopped, endless, {.stop_strings = {"less"}});
  stopped.wait();
  EXPECT_THAT(f.loop->metrics().ended, ElementsAre(0, 0, 0, 1, 1, 0, 1));
}

TEST(EngineLoopMetrics, a_lost_target_ends_requests_with_an_error) {
  test::LoopFixture f("hello");
  f.executor.lose();
  test::Listener listener;
  f.submit(listener);
  listener.wait();
  EXPECT_EQ(f.loop->metrics().ended[static_cast<std::size_t>(FinishReason::error)], 1U);
}

TEST(EngineLoopMetrics, are_there_while_a_step_hangs) {
  test::LoopFixture f("hello", 8, /*held=*/true);
  f.executor.allow_only(1);
  test::Listener listener;
  f.submit(listener);
  listener.wait_for_first();
  EXPECT_EQ(f.loop->metrics().prompt_tokens, 6U);
  EXPECT_EQ(f.loop->metrics().ended, (std::array<std::uint64_t, 7>{}));
  f.executor.release();
  listener.wait();
}

TEST(EngineLoopMetrics, preempted_prompts_run_again_and_overtakers_are_seen) {
  // Blocks for two of three requests; no prefix cache, which would keep what a preemption drops.
  SchedulerConfig config{.cache = {.num_blocks = 12, .block_size = 4},
                         .batch = {.max_batch_size = 4}};
  config.prefix_cache = PrefixCacheKind::none;
  config.preemption = PreemptionPolicy::recompute;
  test::LoopFixture f("endless", 8, /*held=*/true, config);
  Request request = test::ask(30);
  request.ignore_eos = true;
  std::vector<test::Listener> listeners(3);
  for (test::Listener& listener : listeners) f.submit(listener, request);
  f.executor.release();
  for (test::Listener& listener : listeners) listener.wait();
  const EngineMetrics metrics = f.loop->metrics();
  EXPECT_GT(f.loop->status().preemptions, 0U);
  EXPECT_EQ(metrics.repeated_prompt_tokens, 6 * f.loop->status().preemptions);
  EXPECT_EQ(metrics.prompt_tokens, 18U);
  EXPECT_EQ(metrics.overtaken_max, 0U);
}

TEST(EngineLoopMetrics, the_most_overtaken_request_is_told) {
  test::LoopFixture f(
      "endless", 8, /*held=*/true,
      {.cache = {.num_blocks = 64, .block_size = 4}, .batch = {.max_batch_size = 1}});
  f.executor.allow_only(1);
  test::Listener first, low, high;
  f.submit(first, test::ask(3));
  first.wait_for_first();  // the others wait
  Request patient = test::ask(2);
  patient.priority = Priority::low;
  Request hurried = test::ask(2);
  hurried.priority = Priority::high;
  f.submit(low, patient);
  f.submit(high, hurried);
  f.executor.release();
  low.wait();
  EXPECT_EQ(f.loop->metrics().overtaken_max, 1U);
}

}  // namespace
}  // namespace forge::engine
