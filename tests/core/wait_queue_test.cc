#include "forge/core/wait_queue.h"

#include <gtest/gtest.h>

namespace forge {
namespace {

using Indices = std::vector<WaitQueue::Index>;

/// A queue of the policy's keys.
struct PolicyQueue : WaitQueue {
  explicit PolicyQueue(std::uint32_t head_start) : config{.priority_head_start = head_start} {}
  SchedulerConfig config;
};

/// Sequence n is entry n.
void push(PolicyQueue& queue, std::uint32_t n, Priority priority = Priority::normal) {
  queue.push(n, admission_key({.seq = SeqId{n}, .priority = priority}, queue.config), priority);
}

/// Admits everybody and returns the order.
Indices drain(WaitQueue& queue) {
  Indices order;
  while (const auto next = queue.front()) {
    order.push_back(*next);
    queue.admit(*next, true);
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
  for (const std::uint32_t n : {1, 2, 3}) queue.admit(n, true);
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
    queue.admit(*queue.front(), true);
  }
  EXPECT_EQ(queue.overtaken(1), 2 * kHeadStart - 1);
  EXPECT_EQ(queue.admit(1, true), 2 * kHeadStart - 1);
}

TEST(WaitQueue, only_later_requests_that_are_admitted_while_one_waits_overtake_it) {
  PolicyQueue queue(10);
  push(queue, 1, Priority::high);
  push(queue, 2, Priority::low);
  push(queue, 3, Priority::high);
  push(queue, 4, Priority::high);
  queue.admit(1, true);   // was there before 2
  queue.admit(3, true);   // overtakes 2
  queue.admit(4, false);  // resumes: it did when it was first admitted, if at all
  EXPECT_EQ(queue.overtaken(2), 1u);
  queue.admit(2, true);
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
  for (const std::uint64_t n : {1, 2, 3, 4}) {  // the later, the earlier
    queue.push(static_cast<WaitQueue::Index>(n), {.place = 9 - n, .seq = SeqId{n}},
               Priority::normal);
  }
  EXPECT_EQ(queue.in_order(), (Indices{4, 3, 2, 1}));
  queue.admit(4, true);
  queue.erase(3);
  EXPECT_EQ(queue.front(), 2u);
  EXPECT_EQ(queue.overtaken(2), 1u);
  EXPECT_EQ(queue.admit(2, true), 1u);
  EXPECT_EQ(queue.admit(1, true), 2u);
}

TEST(WaitQueueDeathTest, misuse_aborts) {
  PolicyQueue queue(64);
  push(queue, 1);
  EXPECT_DEATH(push(queue, 1), "sequence 1 waits already");
  EXPECT_DEATH(queue.erase(2), "entry 2 does not wait");
}

}  // namespace
}  // namespace forge
