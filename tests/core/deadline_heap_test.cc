#include "forge/core/deadline_heap.h"

#include <gtest/gtest.h>

#include <map>

namespace forge {
namespace {

std::vector<std::uint32_t> take_due(DeadlineHeap& heap, std::uint64_t now) {
  std::vector<std::uint32_t> rows;
  while (const auto row = heap.due(StepId{now})) {
    rows.push_back(*row);
    heap.erase(*row);
  }
  return rows;
}

TEST(DeadlineHeap, gives_who_is_due_in_order_of_deadline_then_sequence) {
  DeadlineHeap heap;
  heap.push(0, SeqId{10}, StepId{7});
  heap.push(1, SeqId{9}, StepId{7});
  heap.push(2, SeqId{11}, StepId{3});
  heap.push(3, SeqId{12}, StepId{8});
  EXPECT_EQ(take_due(heap, 2), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(take_due(heap, 7), (std::vector<std::uint32_t>{2, 1, 0}));
  EXPECT_EQ(heap.deadline(3), StepId{8});
  EXPECT_EQ(heap.deadline(2), std::nullopt);
}

TEST(DeadlineHeap, whoever_leaves_early_leaves_nothing_behind) {
  DeadlineHeap heap;
  std::map<std::uint32_t, std::uint64_t> model;  // row -> deadline
  for (std::uint32_t row = 0; row < 200; ++row) {
    const std::uint64_t deadline = row * 7919u % 101u;
    heap.push(row, SeqId{row}, StepId{deadline});
    model[row] = deadline;
  }
  for (std::uint32_t row = 0; row < 200; row += 3) {
    heap.erase(row);
    heap.erase(row);
    model.erase(row);
  }
  EXPECT_EQ(heap.size(), model.size());
  for (std::uint64_t now = 0; now < 101; ++now) {
    std::vector<std::uint32_t> expected;
    for (const auto& [row, deadline] : model) {
      if (deadline == now) expected.push_back(row);
    }
    EXPECT_EQ(take_due(heap, now), expected) << now;
  }
  EXPECT_EQ(heap.size(), 0u);
}

TEST(DeadlineHeapDeathTest, a_row_has_one_deadline) {
  DeadlineHeap heap;
  heap.push(0, SeqId{1}, StepId{1});
  EXPECT_DEATH(heap.push(0, SeqId{1}, StepId{2}), "sequence 1 has a deadline already");
}

}  // namespace
}  // namespace forge
