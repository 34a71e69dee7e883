#include "forge/core/wait_queue.h"

#include <gtest/gtest.h>

namespace forge {
namespace {

using Rows = std::vector<WaitQueue::Row>;

/// Sequence n in row n.
void push(WaitQueue& queue, std::uint32_t n, Priority priority = Priority::normal) {
  queue.push(n, SeqId{n}, priority);
}

/// Admits everybody and returns the order.
Rows drain(WaitQueue& queue) {
  Rows order;
  while (const auto row = queue.front()) {
    order.push_back(*row);
    queue.admit(*row, true);
  }
  return order;
}

TEST(WaitQueue, is_first_come_first_served_within_a_priority) {
  WaitQueue queue(64);
  for (const std::uint32_t n : {1, 2, 3}) push(queue, n);
  EXPECT_EQ(drain(queue), (Rows{1, 2, 3}));
  EXPECT_EQ(queue.front(), std::nullopt);
}

TEST(WaitQueue, a_higher_priority_has_a_head_start_of_so_many_places) {
  WaitQueue queue(4);
  push(queue, 1);
  push(queue, 2);
  push(queue, 4, Priority::high);  // as if it had come in place 0: before 1
  push(queue, 6, Priority::high);  // as if it had come in place 2: after 2, who was first
  EXPECT_EQ(queue.in_order(), (Rows{4, 1, 2, 6}));
  EXPECT_EQ(drain(queue), (Rows{4, 1, 2, 6}));
}

TEST(WaitQueue, without_a_head_start_priorities_do_not_matter) {
  WaitQueue queue(0);
  push(queue, 1, Priority::low);
  push(queue, 2, Priority::high);
  push(queue, 3);
  EXPECT_EQ(drain(queue), (Rows{1, 2, 3}));
}

TEST(WaitQueue, who_was_preempted_comes_back_to_its_place) {
  WaitQueue queue(64);
  for (const std::uint32_t n : {1, 2, 3, 4, 5}) push(queue, n);
  for (const std::uint32_t n : {1, 2, 3}) queue.admit(n, true);
  push(queue, 3);
  push(queue, 1);
  push(queue, 2);
  EXPECT_EQ(queue.in_order(), (Rows{1, 2, 3, 4, 5}));
}

TEST(WaitQueue, a_low_request_is_overtaken_at_most_two_head_starts_minus_one_times) {
  constexpr std::uint32_t kHeadStart = 5;
  WaitQueue queue(kHeadStart);
  push(queue, 1, Priority::low);
  for (std::uint32_t next = 2; next < 100; ++next) {
    push(queue, next, Priority::high);
    if (queue.front() == WaitQueue::Row{1}) break;
    queue.admit(*queue.front(), true);
  }
  EXPECT_EQ(queue.overtaken(1), 2 * kHeadStart - 1);
  EXPECT_EQ(queue.admit(1, true), 2 * kHeadStart - 1);
}

TEST(WaitQueue, only_later_requests_that_are_admitted_while_one_waits_overtake_it) {
  WaitQueue queue(10);
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
  WaitQueue queue(64);
  for (const std::uint32_t n : {1, 2, 3}) push(queue, n);
  queue.erase(2);
  EXPECT_EQ(queue.size(), 2u);
  queue.erase(1);
  EXPECT_EQ(drain(queue), (Rows{3}));
}

TEST(WaitQueueDeathTest, misuse_aborts) {
  WaitQueue queue(64);
  push(queue, 1);
  EXPECT_DEATH(push(queue, 1), "sequence 1 waits already");
  EXPECT_DEATH(queue.erase(2), "row 2 does not wait");
}

}  // namespace
}  // namespace forge
