// What clients have under way and have used, and whether they may have more.
#include "client_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

namespace forge::serve {
namespace {

using Demand = ClientTable::Demand;
using Permit = ClientTable::Permit;
using Milliseconds = ClientTable::Milliseconds;

ClientTable::TimePoint at(int seconds) {
  return ClientTable::TimePoint(std::chrono::seconds(seconds));
}

Client client_of(std::uint64_t number, const ClientLimits& limits) {
  return {.id = ClientId(number), .limits = limits};
}

TEST(ClientTable, takes_so_many_requests_of_a_client_at_a_time) {
  ClientTable table;
  const Client alice = client_of(1, {.concurrent = 3});
  auto two = table.admit(alice, {.requests = 2}, at(0));
  ASSERT_TRUE(two);
  const auto refused = table.admit(alice, {.requests = 2}, at(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, LimitKind::concurrent);
  EXPECT_EQ(refused.error().left, 1U);
  EXPECT_EQ(refused.error().wait, Milliseconds(1000));
  EXPECT_FALSE(refused.error().is_for_ever());
  EXPECT_TRUE(table.admit(client_of(2, {.concurrent = 3}), {.requests = 3}, at(0)))
      << "another client has places of its own";
  two->ended(true);
  EXPECT_TRUE(table.admit(alice, {.requests = 2}, at(0)));
  two = Permit();
  EXPECT_EQ(table.count(), 0U);
}

TEST(ClientTable, never_takes_more_at_once_than_there_is_ever_place_for) {
  ClientTable table;
  const auto refused = [&table](const ClientLimits& limits, const Demand& demand) {
    return table.admit(client_of(1, limits), demand, at(0)).error();
  };
  EXPECT_TRUE(refused({.concurrent = 3}, {.requests = 4}).is_for_ever());
  EXPECT_TRUE(refused({.waiting = 3}, {.requests = 4}).is_for_ever());
  EXPECT_TRUE(refused({.tokens_per_minute = 3}, {.requests = 1, .tokens = 4}).is_for_ever());
  EXPECT_EQ(table.count(), 0U);
}

TEST(ClientTable, who_is_in_the_batch_waits_no_more) {
  ClientTable table;
  const Client alice = client_of(1, {.waiting = 2});
  auto first = table.admit(alice, {.requests = 2}, at(0));
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->counts_waiting());
  EXPECT_EQ(table.admit(alice, {.requests = 1}, at(0)).error().kind, LimitKind::waiting);
  first->in_batch(1);
  auto second = table.admit(alice, {.requests = 1}, at(0));
  ASSERT_TRUE(second);
  EXPECT_FALSE(table.admit(alice, {.requests = 1}, at(0)));
  first->ended(false);
  EXPECT_TRUE(table.admit(alice, {.requests = 1}, at(0))) << "it ended where it waited";
  first->ended(true);
  EXPECT_TRUE(table.admit(alice, {.requests = 1}, at(0)));
}

TEST(ClientTable, gives_back_what_was_reserved_and_not_used) {
  ClientTable table;
  const Client alice = client_of(1, {.tokens_per_minute = 600});
  {
    auto permit = table.admit(alice, {.requests = 1, .tokens = 101}, at(0));
    ASSERT_TRUE(permit);
    ASSERT_TRUE(permit->reserve(600, at(0)));
    const auto refused = table.admit(alice, {.requests = 1, .tokens = 100}, at(0));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, LimitKind::tokens);
    EXPECT_EQ(refused.error().wait, Milliseconds(10'000)) << "a sixth of a minute";
    permit->started(100);
    permit->generated(50);
    permit->generated(150);
  }
  EXPECT_EQ(table.standing(alice, at(0)).tokens->left, 300U);
  EXPECT_EQ(table.standing(alice, at(0)).tokens->reset, Milliseconds(30'000));
  EXPECT_EQ(table.standing(alice, at(10)).tokens->left, 400U);
}

TEST(ClientTable, refuses_what_becomes_too_many_tokens_and_leaves_the_permit_as_it_was) {
  ClientTable table;
  const Client alice = client_of(1, {.tokens_per_minute = 600});
  auto first = table.admit(alice, {.requests = 1, .tokens = 400}, at(0));
  auto second = table.admit(alice, {.requests = 1, .tokens = 100}, at(0));
  ASSERT_TRUE(first && second);
  const auto refused = second->reserve(300, at(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().left, 200U);
  EXPECT_EQ(table.standing(alice, at(0)).tokens->left, 100U);
  EXPECT_TRUE(second->reserve(601, at(0)).error().is_for_ever());
  EXPECT_TRUE(second->reserve(200, at(0)));
  EXPECT_EQ(table.standing(alice, at(0)).tokens->left, 0U);
}

TEST(ClientTable, forgets_a_client_that_has_nothing_and_has_used_nothing_of_late) {
  ClientTable table;
  for (std::uint64_t number = 1; number <= 100; ++number) {
    auto permit = table.admit(client_of(number, {.tokens_per_minute = 60}),
                              {.requests = 1, .tokens = number % 60 + 1}, at(0));
    ASSERT_TRUE(permit);
    permit->started(1000);
    EXPECT_TRUE(table.admit(client_of(1000 + number, {}), {.requests = 1, .tokens = 9}, at(0)));
  }
  EXPECT_EQ(table.count(), 100U);
  const Client somebody = client_of(1000, {});
  EXPECT_TRUE(table.admit(somebody, {.requests = 1}, at(30)));
  EXPECT_LT(table.count(), 60U);
  EXPECT_TRUE(table.admit(somebody, {.requests = 1}, at(60)));
  EXPECT_EQ(table.count(), 0U);
}

TEST(ClientTable, does_what_new_limits_say_from_then_on) {
  ClientTable table;
  auto running = table.admit(client_of(1, {}), {.requests = 5, .tokens = 100}, at(0));
  ASSERT_TRUE(running);
  const Client limited = client_of(1, {.concurrent = 6, .waiting = 1, .tokens_per_minute = 60});
  EXPECT_EQ(table.admit(limited, {.requests = 2}, at(0)).error().kind, LimitKind::concurrent);
  EXPECT_TRUE(table.admit(limited, {.requests = 1, .tokens = 60}, at(0)));
  running = Permit();
  EXPECT_EQ(table.standing(limited, at(0)).tokens->left, 60U);
  EXPECT_EQ(table.count(), 0U);
}

TEST(ClientTable, tells_of_limits_that_there_are) {
  ClientTable table;
  const auto none = table.standing(client_of(1, {.waiting = 5}), at(0));
  EXPECT_FALSE(none.requests);
  EXPECT_FALSE(none.tokens);
  const Client alice = client_of(1, {.concurrent = 4, .tokens_per_minute = 60});
  EXPECT_EQ(table.standing(alice, at(0)).requests->left, 4U);
  EXPECT_EQ(table.standing(alice, at(0)).requests->reset, Milliseconds(0));
  const auto permit = table.admit(alice, {.requests = 3, .tokens = 30}, at(0));
  const auto some = table.standing(alice, at(0));
  EXPECT_EQ(some.requests->limit, 4U);
  EXPECT_EQ(some.requests->left, 1U);
  EXPECT_EQ(some.requests->reset, Milliseconds(1000));
  EXPECT_EQ(some.tokens->left, 30U);
  EXPECT_EQ(some.tokens->reset, Milliseconds(30'000));
}

/// The table under whatever may come, beside plain sums of what its permits hold.
class RandomTable {
 public:
  explicit RandomTable(unsigned seed) : random_(seed) {}

  void step() {
    pass(Milliseconds(dice(400)));
    if (dice(2) == 0) {
      begin(dice(kClients));
    } else if (!held_.empty()) {
      const std::size_t index = dice(held_.size());
      if (!change(held_[index])) end(index);
    }
  }

  /// The invariants of the header.
  void check() const {
    for (std::uint64_t number = 0; number < kClients; ++number) {
      const auto standing = table_.standing(client_of(number, limits_of(number)), now_);
      std::uint64_t requests = 0;
      for (const Held& held : held_) requests += held.client == number ? held.requests : 0;
      EXPECT_EQ(standing.requests->left, standing.requests->limit - requests) << number;
      const std::int64_t limit = limits_of(number).tokens_per_minute;
      EXPECT_EQ(standing.tokens->left,
                std::max(limit * kParts - missing_[number], std::int64_t{0}) / kParts)
          << number;
    }
  }

  void end_all() {
    while (!held_.empty()) end(0);
    check();
    pass(std::chrono::minutes(1));
    EXPECT_TRUE(table_.admit(client_of(kClients, {}), {.requests = 1}, now_));
    EXPECT_EQ(table_.count(), 0U);
  }

  std::size_t refused() const { return refused_; }

 private:
  static constexpr std::uint64_t kClients = 5;
  static constexpr std::int64_t kParts = 60'000;  // of a token

  struct Held {
    std::uint64_t client = 0;
    Permit permit;
    std::uint32_t requests = 0;
    std::int64_t reserved = 0;
    std::int64_t used = 0;
  };

  static ClientLimits limits_of(std::uint64_t number) {
    const auto more = static_cast<std::uint32_t>(number);
    return {.concurrent = 4 + more, .waiting = 2 + more, .tokens_per_minute = 1000 * (more + 1)};
  }
  std::size_t dice(std::size_t sides) { return random_() % sides; }

  void pass(Milliseconds time) {
    now_ += time;
    for (std::uint64_t number = 0; number < kClients; ++number) {
      add_missing(number, -time.count() * limits_of(number).tokens_per_minute);
    }
  }
  void add_missing(std::uint64_t client, std::int64_t parts) {
    missing_[client] = std::max(missing_[client] + parts, std::int64_t{0});
  }

  void begin(std::uint64_t number) {
    const Demand demand{.requests = static_cast<std::uint32_t>(1 + dice(3)), .tokens = dice(400)};
    auto permit = table_.admit(client_of(number, limits_of(number)), demand, now_);
    if (!permit) {
      ++refused_;
      return;
    }
    const auto reserved = static_cast<std::int64_t>(demand.tokens);
    add_missing(number, reserved * kParts);
    held_.push_back({.client = number,
                     .permit = *std::move(permit),
                     .requests = demand.requests,
                     .reserved = reserved});
  }

  /// False: it is over.
  bool change(Held& held) {
    const auto tokens = static_cast<std::int64_t>(dice(150));
    switch (dice(5)) {
      case 0:
        if (held.permit.reserve(static_cast<std::uint64_t>(tokens) * 8, now_)) {
          add_missing(held.client, -held.reserved * kParts);
          held.reserved = tokens * 8;
          add_missing(held.client, held.reserved * kParts);
        }
        return true;
      case 1:
        held.permit.started(static_cast<std::uint64_t>(tokens));
        held.used += tokens;
        return true;
      case 2:
        held.permit.generated(static_cast<std::uint64_t>(tokens));
        held.used += tokens;
        return true;
      case 3:
        if (held.permit.counts_waiting()) held.permit.in_batch(1);
        return true;
      default:
        held.permit.ended(!held.permit.counts_waiting());
        return --held.requests > 0 && dice(3) > 0;  // or its client goes away
    }
  }

  void end(std::size_t index) {
    const Held& held = held_[index];
    add_missing(held.client, -std::max(held.reserved - held.used, std::int64_t{0}) * kParts);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  std::mt19937 random_;
  ClientTable table_;
  ClientTable::TimePoint now_ = at(0);
  std::array<std::int64_t, kClients> missing_{};  // from their buckets, in parts
  std::vector<Held> held_;                        // gone before the table is
  std::size_t refused_ = 0;
};

TEST(ClientTable, keeps_its_counts_through_whatever_comes_and_nothing_at_the_end) {
  std::size_t refused = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomTable table(seed);
    for (int i = 0; i < 500; ++i) {
      table.step();
      table.check();
    }
    table.end_all();
    refused += table.refused();
  }
  EXPECT_GT(refused, 1000U) << "the limits were met";
}

}  // namespace
}  // namespace forge::serve
