#include "forge/core/session_table.h"

#include <gtest/gtest.h>

namespace forge {
namespace {

constexpr SessionId kA{7};
constexpr SessionId kB{3};

TEST(SessionTable, a_session_is_idle_from_the_end_of_its_last_request) {
  SessionTable sessions;
  sessions.begin_request(kA);
  sessions.begin_request(kA);
  sessions.end_request(kA, StepId{4});
  EXPECT_EQ(sessions.idle_since(StepId{100}), std::nullopt) << "one request is left";
  sessions.end_request(kA, StepId{6});
  EXPECT_EQ(sessions.idle_since(StepId{5}), std::nullopt);
  EXPECT_EQ(sessions.idle_since(StepId{6}), kA);
  sessions.begin_request(kA);
  EXPECT_EQ(sessions.idle_since(StepId{100}), std::nullopt);
}

TEST(SessionTable, the_one_that_is_idle_for_longest_ends_first) {
  SessionTable sessions;
  sessions.begin_request(kA);
  sessions.begin_request(kB);
  sessions.end_request(kA, StepId{1});
  sessions.end_request(kB, StepId{2});
  EXPECT_EQ(sessions.first_to_end(), kA);
  sessions.end(kA);
  EXPECT_FALSE(sessions.contains(kA));
  EXPECT_EQ(sessions.first_to_end(), kB);
}

TEST(SessionTable, an_active_session_loses_its_pins_only_when_no_other_is_left) {
  SessionTable sessions;
  sessions.begin_request(kB);
  sessions.exchange_pins(kB, {BlockId{5}});
  sessions.begin_request(kA);
  sessions.end_request(kA, StepId{1});
  EXPECT_EQ(sessions.first_to_end(), kA);
  sessions.end(kA);
  EXPECT_EQ(sessions.first_to_end(), kB);
  EXPECT_EQ(sessions.end(kB), std::vector{BlockId{5}});
  EXPECT_TRUE(sessions.contains(kB)) << "its request goes on";
  EXPECT_TRUE(sessions.all().at(kB).pinned.empty());
  EXPECT_EQ(sessions.first_to_end(), std::nullopt);
}

}  // namespace
}  // namespace forge
