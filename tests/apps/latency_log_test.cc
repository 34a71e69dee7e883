#include "latency_log.h"

#include <gtest/gtest.h>

namespace forge::apps {
namespace {

TEST(LatencyLog, the_first_token_counts_from_the_arrival_and_the_others_from_the_one_before) {
  LatencyLog log(2);
  log.arrive(0, 100);
  log.arrive(1, 150);
  log.take(0, 1, 180);
  log.take(1, 1, 250);
  log.take(0, 3, 210);  // 10 each
  log.take(1, 1, 290);
  EXPECT_EQ(log.time_to_first_token().p50, 100);
  EXPECT_EQ(log.time_to_first_token().p95, 100);
  EXPECT_EQ(log.inter_token_latency().p50, 10);
  EXPECT_EQ(log.inter_token_latency().p95, 40);
}

TEST(LatencyLog, time_per_output_token_is_that_of_a_request_after_its_first_step) {
  LatencyLog log(3);
  log.take(0, 1, 100);
  log.take(0, 1, 110);
  log.take(0, 2, 160);  // 20 a token
  log.take(1, 4, 100);
  log.take(1, 1, 150);
  log.take(2, 3, 100);  // no tokens after those
  EXPECT_EQ(log.time_per_output_token().p50, 50);
  log.take(2, 2, 120);
  EXPECT_EQ(log.time_per_output_token().p50, 20);
  EXPECT_EQ(log.time_per_output_token().p95, 50);
}

TEST(LatencyLog, percentiles_are_of_the_nearest_rank) {
  std::vector<float> values;
  for (int i = 100; i >= 0; --i) values.push_back(static_cast<float>(i));
  EXPECT_EQ(percentiles(values).p50, 50);
  EXPECT_EQ(percentiles(values).p95, 95);
  values.clear();
  EXPECT_EQ(percentiles(values).p95, 0);
}

}  // namespace
}  // namespace forge::apps
