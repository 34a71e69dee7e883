#include "batch_queue.h"

#include <gtest/gtest.h>

namespace forge::kv_events {
namespace {

using Pushed = BatchQueue::Pushed;

KvEventBatch batch(double timestamp) { return {.timestamp = timestamp}; }

TEST(BatchQueue, a_batch_that_finds_no_room_leaves_a_gap) {
  BatchQueue queue(2);
  for (int i = 0; i < 5; ++i) queue.push(batch(i));
  EXPECT_EQ(queue.dropped(), 3U);
  EXPECT_EQ(queue.pop()->sequence, 0U);
  queue.push(batch(5));
  EXPECT_EQ(queue.pop()->sequence, 1U);
  const auto last = queue.pop();
  EXPECT_EQ(last->sequence, 5U);
  EXPECT_EQ(last->batch.timestamp, 5);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BatchQueue, says_when_who_takes_may_be_asleep) {
  BatchQueue queue(2);
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(queue.push(batch(0)), Pushed::onto_none);
  EXPECT_EQ(queue.push(batch(1)), Pushed::onto_others);
  EXPECT_EQ(queue.push(batch(2)), Pushed::dropped);
  queue.pop();
  EXPECT_EQ(queue.push(batch(3)), Pushed::onto_others);
  queue.pop();
  queue.pop();
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(queue.push(batch(4)), Pushed::onto_none);
}

}  // namespace
}  // namespace forge::kv_events
