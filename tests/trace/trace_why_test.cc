#include "forge/trace/trace_why.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

using testing::request;

Request of(ClientId client, Request request) {
  request.client = client;
  return request;
}

/// A run of two clients in one slot, the first of them with more requests.
std::string two_clients() {
  const TraceHeader header{{.cache = {.num_blocks = 16, .block_size = 4},
                            .batch = {.max_batch_size = 1, .max_batch_tokens = 16}}};
  testing::HashExecutor executor;
  testing::Recording run(header, executor);
  for (int i = 0; i < 3; ++i) run.submit(of(ClientId{1}, request(4, 1)));
  run.submit(of(ClientId{2}, request(2, 2)));
  for (int step = 0; step < 8; ++step) run.step();
  return run.text();
}

std::string why(const std::string& trace, std::uint64_t step) {
  std::istringstream in(trace);
  auto reader = TraceReader::open(in).value();
  std::ostringstream out;
  print(reasons_of(reader, StepId{step}).value().value(), out);
  return out.str();
}

std::string story(const std::string& trace, std::uint64_t seq) {
  std::istringstream in(trace);
  auto reader = TraceReader::open(in).value();
  std::ostringstream out;
  const bool is_known = tell(reader, SeqId{seq}, out).value();
  EXPECT_EQ(is_known, !out.str().empty());
  return out.str();
}

TEST(TraceWhy, names_the_candidates_and_what_decided_between_them) {
  EXPECT_EQ(why(two_clients(), 0),
            "step 0\n"
            "  1 is admitted: its client has had less\n"
            "    1  client 1 has had 0, user 0 0, place 65\n"
            "    4  client 2 has had 1, user 0 0, place 68\n"
            "  4 is next and waits: the batch is full\n");
  EXPECT_EQ(why(two_clients(), 1),
            "step 1\n"
            "  4 is admitted: its client has had less\n"
            "    4  client 2 has had 1, user 0 0, place 68\n"
            "    2  client 1 has had 4, user 0 0, place 66\n"
            "  2 is next and waits: the batch is full\n");
}

TEST(TraceWhy, tells_what_became_of_a_sequence) {
  EXPECT_EQ(story(two_clients(), 4),
            "step 0          submitted before it: 2+2 tokens, normal\n"
            "step 0          waits and is next: the batch is full\n"
            "step 1          4 is admitted: its client has had less\n"
            "step 3          ends: length\n");
  EXPECT_EQ(story(two_clients(), 3),
            "step 0          submitted before it: 4+1 tokens, normal\n"
            "steps 0..2      waits behind 2 of its user\n"
            "step 3          waits and is next: the batch is full\n"
            "step 4          3 is admitted: no other user waits\n"
            "step 5          ends: length\n");
  EXPECT_EQ(story(two_clients(), 9), "");
}

TEST(TraceWhy, names_those_who_could_have_given_way) {
  std::ifstream file(FORGE_TRACE_CORPUS "/preemption.jsonl");
  const std::string trace(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(
      why(trace, 1),
      "step 1\n"
      "  3 gives way (recompute): blocks are short; first goes the lower priority, then fewer "
      "output tokens, then the later one\n"
      "    3  normal, 1 output tokens\n"
      "    2  normal, 1 output tokens\n"
      "    1  normal, 1 output tokens\n"
      "  2 gives way (recompute): blocks are short; first goes the lower priority, then fewer "
      "output tokens, then the later one\n"
      "    2  normal, 1 output tokens\n"
      "    1  normal, 1 output tokens\n"
      "  2 is next and waits: a step that preempts admits nobody\n");
}

TEST(TraceWhy, a_step_or_sequence_that_is_not_there_is_none) {
  std::istringstream in(two_clients());
  auto reader = TraceReader::open(in).value();
  EXPECT_FALSE(reasons_of(reader, StepId{99}).value().has_value());
}

/// The first candidate is the one that was chosen, in every step.
TEST(TraceWhy, the_rules_account_for_every_choice_of_random_runs) {
  std::mt19937 random(5);
  const auto below = [&](std::uint32_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  std::size_t turns = 0;
  std::size_t contested = 0;
  std::size_t victims = 0;
  for (int i = 0; i < 20; ++i) {
    const TraceHeader header{{.cache = {.num_blocks = 16, .block_size = 4, .num_host_blocks = 10},
                              .batch = {.max_batch_size = 4, .max_batch_tokens = 16},
                              .prefill_chunk_size = 7,
                              .priority_head_start = 3}};
    testing::HashExecutor executor;
    testing::Recording run(header, executor);
    for (int step = 0; step < 100; ++step) {
      if (below(3) == 0) {
        Request one = of(ClientId{below(3)}, request(1 + below(30), 1 + below(20)));
        one.user = UserId{below(2)};
        one.priority = Priority{static_cast<std::uint8_t>(below(3))};
        run.submit(one);
      }
      run.step();
    }
    std::istringstream in(run.text());
    auto reader = TraceReader::open(in).value();
    TraceState state(header.scheduler);
    while (const auto event = reader.next().value()) {
      const auto* const step = std::get_if<StepEvent>(&*event);
      if (step == nullptr) {
        ASSERT_TRUE(state.apply(*event));
        continue;
      }
      const auto reasons = follow(state, *step).value();
      for (const TurnChoice& turn : reasons.turns) {
        ASSERT_EQ(turn.candidates.front().standing.key.seq, turn.chosen.seq);
        contested += turn.candidates.size() > 1 ? 1 : 0;
        ++turns;
      }
      for (const VictimChoice& choice : reasons.victims) {
        ASSERT_EQ(choice.candidates.front().seq, choice.chosen.seq);
        ++victims;
      }
      ASSERT_EQ(reasons.turns.size(), step->plan.admitted.size() + step->plan.resumed.size());
    }
  }
  EXPECT_GT(turns, 500U);
  EXPECT_GT(contested, 200U);
  EXPECT_GT(victims, 50U);
}

}  // namespace
}  // namespace forge::trace
