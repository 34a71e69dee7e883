// Shares at realistic sizes, on the clock of steps: who keeps how many requests waiting does not
// decide who is served, and nobody who comes new waits for long lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "forge/core/must.h"
#include "forge/core/scheduler.h"

namespace forge {
namespace {

/// A client that keeps so many requests under way: when one ends, the next one comes.
struct Asker {
  std::uint64_t client = 0;
  std::uint64_t user = 0;
  std::uint32_t requests = 1;
  std::uint32_t weight = 1;
  std::uint32_t prompt_tokens = 40;
  std::uint32_t new_tokens = 24;
};

/// A scheduler whose target answers each slice that samples with one token.
class Load {
 public:
  explicit Load(std::uint32_t slots)
      : scheduler_({.cache = {.num_blocks = 4096},
                    .batch = {.max_batch_size = slots, .max_batch_tokens = 64},
                    .prefill_chunk_size = 32,
                    .prefix_cache = PrefixCacheKind::none}) {}

  SeqId submit(const Asker& asker) {
    // Sizes vary by half, so that nothing depends on requests of one length.
    const auto about = [&](std::uint32_t mean) {
      return std::max(1U, mean / 2 + static_cast<std::uint32_t>(random_() % (mean + 1)));
    };
    const Request request{.prompt = std::vector<TokenId>(about(asker.prompt_tokens), TokenId{7}),
                          .max_new_tokens = about(asker.new_tokens),
                          .client = ClientId{asker.client},
                          .user = UserId{asker.user},
                          .weight = asker.weight};
    const SeqId seq = must(scheduler_.submit(request));
    askers_[seq] = asker;
    return seq;
  }

  /// Returns: those that were admitted.
  std::vector<SeqId> step() {
    for (const SeqId seq : ended_) {
      const Asker asker = askers_.at(seq);
      askers_.erase(seq);
      submit(asker);
    }
    ended_.clear();
    const StepPlan& plan = scheduler_.schedule();
    StepResult result{.step = plan.step};
    for (const Slice& slice : plan.slices) {
      const Asker& asker = askers_.at(slice.seq);
      served_[{asker.client, asker.user}] += slice.count;
      result.slices.push_back({.seq = slice.seq,
                               .first_token = static_cast<std::uint32_t>(result.tokens.size()),
                               .token_count = slice.samples ? 1U : 0U});
      if (slice.samples) result.tokens.push_back(TokenId{7});
    }
    for (const Finish& finish : plan.finished) ended_.push_back(finish.seq);
    std::vector<SeqId> admitted;
    for (const Admission& admission : plan.admitted) admitted.push_back(admission.seq);
    scheduler_.commit(plan, result);
    return admitted;
  }

  /// The requests of one client or user.
  void ask(const Asker& asker) {
    for (std::uint32_t i = 0; i < asker.requests; ++i) submit(asker);
  }

  /// What comes of so many steps, once it has settled.
  void serve(int steps) {
    for (int i = 0; i < 1000; ++i) step();
    served_.clear();
    for (int i = 0; i < steps; ++i) step();
  }
  /// Tokens that ran since then.
  double served(std::uint64_t client) const {
    double tokens = 0;
    for (const auto& [who, its] : served_) tokens += who.first == client ? its : 0;
    return tokens;
  }
  double served(std::uint64_t client, std::uint64_t user) const {
    return served_.at({client, user});
  }

  std::uint64_t client_of(SeqId seq) const { return askers_.at(seq).client; }

 private:
  Scheduler scheduler_;
  std::mt19937_64 random_{1};
  std::map<SeqId, Asker> askers_;
  std::vector<SeqId> ended_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> served_;  // by client and user
};

TEST(Fairness, ten_clients_with_1_to_400_requests_have_equal_shares_within_5_percent) {
  Load load(4);
  std::uint64_t client = 0;
  for (const std::uint32_t requests : {1, 2, 5, 10, 20, 50, 100, 200, 300, 400}) {
    ++client;
    load.ask({.client = client,
              .requests = requests,
              .prompt_tokens = static_cast<std::uint32_t>(20 + 7 * client)});
  }
  load.serve(30000);
  double sum = 0;
  for (client = 1; client <= 10; ++client) sum += load.served(client);
  for (client = 1; client <= 10; ++client) {
    EXPECT_NEAR(load.served(client) / (sum / 10), 1, 0.05) << client;
  }
}

TEST(Fairness, who_comes_new_is_passed_once_by_each_other_at_most) {
  Load load(4);
  for (std::uint64_t client = 1; client <= 3; ++client) {
    load.ask({.client = client, .requests = 400});
  }
  for (std::uint64_t round = 0; round < 50; ++round) {
    for (int i = 0; i < 37; ++i) load.step();
    // Those that came in rounds before go on asking.
    const SeqId light = load.submit({.client = 100 + round});
    std::map<std::uint64_t, int> passed;
    for (bool waits = true; waits;) {
      for (const SeqId seq : load.step()) {
        if (seq == light) waits = false;
        if (waits) ++passed[load.client_of(seq)];
      }
    }
    for (const auto& [client, times] : passed) EXPECT_LE(times, 1) << client;
  }
}

TEST(Fairness, a_client_that_makes_names_up_gains_nothing) {
  Load load(4);
  for (std::uint64_t user = 0; user < 100; ++user) load.ask({.client = 1, .user = user});
  load.ask({.client = 2, .requests = 10});
  load.serve(20000);
  EXPECT_NEAR(load.served(1) / load.served(2), 1, 0.05);
}

TEST(Fairness, users_share_what_their_client_has) {
  Load load(4);
  load.ask({.client = 1, .user = 1, .requests = 200, .prompt_tokens = 80});
  load.ask({.client = 1, .user = 2, .requests = 5});
  load.ask({.client = 2, .requests = 5});
  load.serve(20000);
  EXPECT_NEAR(load.served(1) / load.served(2), 1, 0.05);
  EXPECT_NEAR(load.served(1, 1) / load.served(1, 2), 1, 0.05);
}

TEST(Fairness, shares_are_by_weight) {
  Load load(4);
  load.ask({.client = 1, .requests = 50, .weight = 3});
  load.ask({.client = 2, .requests = 50});
  load.serve(20000);
  EXPECT_NEAR(load.served(1) / load.served(2), 3, 0.15);
}

TEST(Fairness, what_ran_while_nobody_else_waited_is_not_held_against_anyone) {
  Load load(1);
  load.ask({.client = 1, .requests = 10});
  for (int i = 0; i < 5000; ++i) load.step();
  load.ask({.client = 2, .requests = 10});
  load.serve(20000);
  EXPECT_NEAR(load.served(1) / load.served(2), 1, 0.05);
}

// New names come faster than they are served. A floor that stayed where the last turn was would let
// those that are ahead wait for as long as they come.
TEST(Fairness, names_without_end_do_not_keep_another_waiting_for_ever) {
  Load load(1);
  for (const std::uint64_t client : {1, 2}) load.ask({.client = client, .prompt_tokens = 60});
  std::uint64_t name = 1000;
  std::uint64_t steps_since = 0;
  std::uint64_t longest = 0;
  for (int i = 0; i < 20000; ++i) {
    if (i % 20 == 0) load.ask({.client = ++name, .prompt_tokens = 2, .new_tokens = 2});
    ++steps_since;
    for (const SeqId seq : load.step()) {
      if (load.client_of(seq) == 1) steps_since = 0;
    }
    longest = std::max(longest, steps_since);
  }
  EXPECT_LT(longest, 2500U);
}

}  // namespace
}  // namespace forge
