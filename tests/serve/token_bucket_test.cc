// How a bucket of tokens empties and fills.
#include "token_bucket.h"

#include <gtest/gtest.h>

namespace forge::serve {
namespace {

using Milliseconds = TokenBucket::Milliseconds;

TokenBucket::TimePoint at(double seconds) {
  return TokenBucket::TimePoint(Milliseconds(static_cast<std::int64_t>(seconds * 1000)));
}

TokenBucket bucket_of(std::uint32_t tokens) {
  TokenBucket bucket;
  bucket.set_size(tokens, at(0));
  return bucket;
}

TEST(TokenBucket, is_full_at_first_and_fills_in_a_minute) {
  TokenBucket bucket = bucket_of(600);
  EXPECT_EQ(bucket.available(at(0)), 600U);
  bucket.take(600, at(0));
  EXPECT_EQ(bucket.available(at(0)), 0U);
  EXPECT_EQ(bucket.available(at(0.099)), 0U);
  EXPECT_EQ(bucket.available(at(0.1)), 1U);
  EXPECT_EQ(bucket.available(at(30)), 300U);
  EXPECT_EQ(bucket.full_at(), at(60));
  EXPECT_EQ(bucket.available(at(60)), 600U);
  EXPECT_EQ(bucket.available(at(1e6)), 600U);
}

TEST(TokenBucket, says_how_long_it_takes_to_the_millisecond) {
  TokenBucket bucket = bucket_of(7);
  bucket.take(7, at(0));
  for (const std::uint64_t tokens : {1U, 3U, 7U}) {
    const Milliseconds wait = bucket.time_until(tokens, at(0));
    EXPECT_GE(bucket.available(at(0) + wait), tokens);
    EXPECT_LT(bucket.available(at(0) + wait - Milliseconds(1)), tokens);
  }
  EXPECT_EQ(bucket.time_until(0, at(0)), Milliseconds(0));
  EXPECT_EQ(bucket.time_until(7, at(60)), Milliseconds(0));
}

TEST(TokenBucket, loses_nothing_to_rounding_however_often_it_is_looked_at) {
  TokenBucket bucket = bucket_of(7);
  bucket.take(7, at(0));
  for (int i = 1; i <= 30'000; ++i) {
    bucket.take(0, at(0) + std::chrono::microseconds(i * 1999));
  }
  EXPECT_EQ(bucket.available(at(59.999)), 6U);
  EXPECT_EQ(bucket.available(at(60)), 7U);
}

TEST(TokenBucket, takes_back_whenever_that_is_and_never_holds_more_than_its_size) {
  TokenBucket early = bucket_of(600);
  TokenBucket late = bucket_of(600);
  for (TokenBucket* const bucket : {&early, &late}) bucket->take(500, at(0));
  early.give_back(300);
  early.take(0, at(10));
  late.take(0, at(10));
  late.give_back(300);
  EXPECT_EQ(early.available(at(10)), 500U);
  EXPECT_EQ(late.available(at(10)), 500U);
  late.give_back(300);
  EXPECT_EQ(late.available(at(10)), 600U);
  EXPECT_TRUE(late.is_full());
}

TEST(TokenBucket, that_changes_its_size_misses_what_it_missed) {
  TokenBucket bucket = bucket_of(600);
  bucket.take(500, at(0));
  bucket.set_size(1200, at(0));
  EXPECT_EQ(bucket.available(at(0)), 700U);
  bucket.set_size(60, at(0));
  EXPECT_EQ(bucket.available(at(0)), 0U);
  EXPECT_EQ(bucket.available(at(440)), 0U);
  EXPECT_EQ(bucket.available(at(470)), 30U);
  bucket.set_size(0, at(470));
  EXPECT_TRUE(bucket.is_full()) << "no limit";
  bucket.take(500, at(470));
  EXPECT_TRUE(bucket.is_full());
}

}  // namespace
}  // namespace forge::serve
