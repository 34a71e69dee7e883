#include "forge/core/wait_queue.h"

#include <gtest/gtest.h>

#include <set>

namespace forge {
namespace {

using Indices = std::vector<WaitQueue::Index>;

/// A queue of the policy's keys.
struct PolicyQueue : WaitQueue {
  explicit PolicyQueue(std::uint32_t head_start) : config{.priority_head_start = head_start} {}
  SchedulerConfig config;
  std::set<Index> was_admitted;
  FairShares::Index user = shares().enter(ClientId{1}, UserId{1});
};

/// Sequence n is entry n.
void push(PolicyQueue& queue, std::uint32_t n, Priority priority = Priority::normal) {
  queue.push(n, {.key = admission_key({.seq = SeqId{n}, .priority = priority}, queue.config),
                 .priority = priority,
                 .resumes = queue.was_admitted.contains(n),
                 .user = queue.user});
}

std::uint32_t admit(PolicyQueue& queue, std::uint32_t n) {
  queue.was_admitted.insert(n);
  return queue.admit(n);
}

/// Admits everybody and returns the order.
Indices drain(PolicyQueue& queue) {
  Indices order;
  while (const auto next = queue.front()) {
    order.push_back(*next);
    admit(queue, *next);
  }
  return order;
}

TEST(WaitQueue, is_first_come_first_served_within_a_priority) {
  PolicyQueue queue(64);
  for (const std::uint32_t n : {1, 2, 3}) push(queue, n);
  EXPECT_EQ(drain(queue), (Indices{1, 2, 3}));
  EXPECT_EQ(queue.front(), std::nullopt);
}

TEST(WaitQueue, a_higher_priority_has_a_head_start_of_so_many_places) {
  PolicyQueue queue(4);
  push(queue, 1);
  push(queue, 2);
  push(queue, 4, Priority::high);  // as if it had come in place 0: before 1
  push(queue, 6, Priority::high);  // as if it had come in place 2: after 2, who was first
  EXPECT_EQ(queue.in_order(), (Indices{4, 1, 2, 6}));
  EXPECT_EQ(drain(queue), (Indices{4, 1, 2, 6}));
}

TEST(WaitQueue, without_a_head_start_priorities_do_not_matter) {
  PolicyQueue queue(0);
  push(queue, 1, Priority::low);
  push(queue, 2, Priority::high);
  push(queue, 3);
  EXPECT_EQ(drain(queue), (Indices{1, 2, 3}));
}

TEST(WaitQueue, who_was_preempted_comes_back_to_its_place) {
  PolicyQueue queue(64);
  for (const std::uint32_t n : {1, 2, 3, 4, 5}) push(queue, n);
  for (const std::uint32_t n : {1, 2, 3}) admit(queue, n);
  push(queue, 3);
  push(queue, 1);
  push(queue, 2);
  EXPECT_EQ(queue.in_order(), (Indices{1, 2, 3, 4, 5}));
}

TEST(WaitQueue, a_low_request_is_overtaken_at_most_two_head_starts_minus_one_times) {
  constexpr std::uint32_t kHeadStart = 5;
  PolicyQueue queue(kHeadStart);
  push(queue, 1, Priority::low);
  for (std::uint32_t next = 2; next < 100; ++next) {
    push(queue, next, Priority::high);
    if (queue.front() == WaitQueue::Index{1}) break;
    admit(queue, *queue.front());
  }
  EXPECT_EQ(queue.overtaken(1), 2 * kHeadStart - 1);
  EXPECT_EQ(admit(queue, 1), 2 * kHeadStart - 1);
}

TEST(WaitQueue, only_later_requests_that_are_admitted_while_one_waits_overtake_it) {
  PolicyQueue queue(10);
  push(queue, 1, Priority::high);
  push(queue, 2, Priority::low);
  push(queue, 3, Priority::high);
  push(queue, 4, Priority::high);
  admit(queue, 1);  // was there before 2
  admit(queue, 3);  // overtakes 2
  push(queue, 3, Priority::high);
  admit(queue, 3);  // resumes: it did when it was first admitted
  EXPECT_EQ(queue.overtaken(2), 1u);
  admit(queue, 4);  // overtakes 2
  EXPECT_EQ(admit(queue, 2), 2u);
  push(queue, 2, Priority::low);
  EXPECT_EQ(queue.overtaken(2), 0u) << "counts from the start of this wait";
}

TEST(WaitQueue, who_gives_up_is_skipped) {
  PolicyQueue queue(64);
  for (const std::uint32_t n : {1, 2, 3}) push(queue, n);
  queue.erase(2);
  EXPECT_EQ(queue.size(), 2u);
  queue.erase(1);
  EXPECT_EQ(drain(queue), (Indices{3}));
}

TEST(WaitQueue, any_keys_order_it_and_overtakers_are_counted_by_arrival) {
  WaitQueue queue;
  const FairShares::Index user = queue.shares().enter(ClientId{}, UserId{});
  for (const std::uint64_t n : {1, 2, 3, 4}) {  // the later, the earlier
    queue.push(static_cast<WaitQueue::Index>(n),
               {.key = {.place = 9 - n, .seq = SeqId{n}}, .user = user});
  }
  EXPECT_EQ(queue.in_order(), (Indices{4, 3, 2, 1}));
  queue.admit(4);
  queue.erase(3);
  EXPECT_EQ(queue.front(), 2u);
  EXPECT_EQ(queue.overtaken(2), 1u);
  EXPECT_EQ(queue.admit(2), 1u);
  EXPECT_EQ(queue.admit(1), 2u);
}

TEST(WaitQueue, users_take_turns_and_what_has_begun_goes_first) {
  WaitQueue queue;
  FairShares& shares = queue.shares();
  const auto push_of = [&](std::uint64_t n, FairShares::Index user, bool resumes = false) {
    queue.push(static_cast<WaitQueue::Index>(n),
               {.key = {.place = n, .seq = SeqId{n}}, .resumes = resumes, .user = user});
  };
  const FairShares::Index many = shares.enter(ClientId{1}, UserId{1});
  const FairShares::Index few = shares.enter(ClientId{2}, UserId{1});
  for (const std::uint64_t n : {1, 2, 3, 4}) push_of(n, many);
  for (const std::uint64_t n : {5, 6}) push_of(n, few);
  EXPECT_EQ(queue.in_order(), (Indices{1, 2, 3, 4, 5, 6}));
  queue.admit(1);
  shares.charge(many, 7, 1);
  EXPECT_EQ(queue.in_order(), (Indices{5, 6, 2, 3, 4})) << "one turn each";
  push_of(1, many, true);
  EXPECT_EQ(queue.in_order(), (Indices{1, 2, 3, 4, 5, 6})) << "it was preempted";
  queue.admit(1);
  queue.admit(5);
  shares.charge(few, 3, 1);
  EXPECT_EQ(queue.in_order(), (Indices{6, 2, 3, 4})) << "it has had less: 3 tokens of 7";
  queue.admit(6);
  push_of(7, few);
  EXPECT_EQ(queue.in_order(), (Indices{7, 2, 3, 4})) << "it still has";
}

TEST(WaitQueueDeathTest, misuse_aborts) {
  PolicyQueue queue(64);
  push(queue, 1);
  EXPECT_DEATH(push(queue, 1), "sequence 1 waits already");
  EXPECT_DEATH(queue.erase(2), "entry 2 does not wait");
}

}  // namespace
}  // namespace forge
