// The messages of conversations, kept between their turns: limits, conflicts, what is forgotten.
#include "chat_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace forge::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SessionId kSeven{7};

class ChatSessionsTest : public ::testing::Test {
 protected:
  using Json = nlohmann::ordered_json;

  static ChatSessions::Clock::time_point at(int seconds) {
    return ChatSessions::Clock::time_point(std::chrono::seconds(seconds));
  }
  static Json user(const std::string& text) { return {{"role", "user"}, {"content", text}}; }
  static Json assistant(const std::string& text) {
    return {{"role", "assistant"}, {"content", text}};
  }

  ChatSessions make(const ChatSessionLimits& limits) {
    return {limits, [this](SessionId session) { forgotten_.push_back(session.value); }};
  }

  /// A turn that is kept. Returns: how many messages there were before.
  static std::size_t talk(ChatSessions& sessions, SessionId session, int seconds,
                          const std::string& question = "?", const std::string& answer = "!") {
    auto turn = sessions.begin({session, std::nullopt}, Json::array({user(question)}), at(seconds));
    EXPECT_TRUE(turn) << turn.error().message;
    const std::size_t before = turn->messages_before();
    turn->keep(assistant(answer), at(seconds));
    return before;
  }

  std::vector<std::uint64_t> forgotten_;
};

TEST_F(ChatSessionsTest, a_turn_has_all_that_was_kept_and_what_it_adds) {
  ChatSessions sessions = make({});
  auto first = sessions.begin({kSeven, 0}, Json::array({user("a"), user("b")}), at(0)).value();
  EXPECT_EQ(first.messages_before(), 0U);
  EXPECT_EQ(first.messages(), Json::array({user("a"), user("b")}));
  first.keep(assistant("c"), at(1));
  const auto second = sessions.begin({kSeven, 3}, Json::array({user("d")}), at(2)).value();
  EXPECT_EQ(second.messages_before(), 3U);
  EXPECT_EQ(second.messages(), Json::array({user("a"), user("b"), assistant("c"), user("d")}));
}

TEST_F(ChatSessionsTest, a_turn_that_is_not_kept_changes_nothing) {
  ChatSessions sessions = make({});
  { const auto failed = sessions.begin({kSeven, {}}, Json::array({user("a")}), at(0)).value(); }
  EXPECT_EQ(sessions.count(), 0U);
  talk(sessions, kSeven, 1);
  const std::uint64_t bytes = sessions.bytes();
  { const auto failed = sessions.begin({kSeven, {}}, Json::array({user("a")}), at(2)).value(); }
  EXPECT_EQ(sessions.bytes(), bytes);
  EXPECT_EQ(talk(sessions, kSeven, 3), 2U);
  EXPECT_THAT(forgotten_, IsEmpty());
}

TEST_F(ChatSessionsTest, one_turn_at_a_time) {
  ChatSessions sessions = make({});
  auto turn = sessions.begin({kSeven, {}}, Json::array({user("a")}), at(0)).value();
  const auto second = sessions.begin({kSeven, {}}, Json::array({user("b")}), at(0));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().status, 409U);
  EXPECT_EQ(second.error().code, "session_busy");
  EXPECT_EQ(second.error().message,
            "the session has another turn under way; accepted is one at a time");
  EXPECT_TRUE(sessions.begin({SessionId(8), {}}, Json::array({user("b")}), at(0)));
  turn.keep(assistant("c"), at(1));
  EXPECT_EQ(talk(sessions, kSeven, 2), 2U);
}

TEST_F(ChatSessionsTest, a_claim_that_is_wrong_is_refused) {
  ChatSessions sessions = make({});
  const auto refused = sessions.begin({kSeven, 4}, Json::array({user("a")}), at(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 409U);
  EXPECT_EQ(refused.error().code, "session_mismatch");
  EXPECT_EQ(refused.error().message, "the session has 0 messages, and session_messages is 4");
  EXPECT_EQ(sessions.count(), 0U);
}

TEST_F(ChatSessionsTest, what_is_idle_for_too_long_is_forgotten) {
  ChatSessions sessions = make({.idle_timeout = std::chrono::seconds(10)});
  talk(sessions, SessionId(1), 0);
  talk(sessions, SessionId(2), 5);
  EXPECT_EQ(talk(sessions, SessionId(1), 9), 2U);
  EXPECT_EQ(talk(sessions, SessionId(3), 15), 0U);
  EXPECT_THAT(forgotten_, ElementsAre(2U));
  EXPECT_EQ(talk(sessions, SessionId(1), 19), 0U);
  EXPECT_THAT(forgotten_, ElementsAre(2U, 1U));
}

TEST_F(ChatSessionsTest, the_one_that_is_idle_for_longest_gives_its_place_up) {
  ChatSessions sessions = make({.sessions = 2});
  talk(sessions, SessionId(1), 0);
  talk(sessions, SessionId(2), 1);
  talk(sessions, SessionId(1), 2);
  talk(sessions, SessionId(3), 3);
  EXPECT_THAT(forgotten_, ElementsAre(2U));
  const auto one = sessions.begin({SessionId(1), 4}, Json::array({user("a")}), at(4)).value();
  const auto three = sessions.begin({SessionId(3), 2}, Json::array({user("a")}), at(4)).value();
  const auto four = sessions.begin({SessionId(4), {}}, Json::array({user("a")}), at(4));
  ASSERT_FALSE(four);
  EXPECT_EQ(four.error().status, 503U);
  EXPECT_EQ(four.error().code, "sessions_full");
}

TEST_F(ChatSessionsTest, bytes_of_one_session_are_limited_before_it_is_answered) {
  ChatSessions sessions = make({.session_bytes = 1000});
  talk(sessions, kSeven, 0, std::string(600, 'x'));
  const auto refused =
      sessions.begin({kSeven, {}}, Json::array({user(std::string(600, 'y'))}), at(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 400U);
  EXPECT_EQ(refused.error().code, "session_too_long");
  EXPECT_TRUE(refused.error().message.ends_with("accepted are up to 1000"));
  EXPECT_EQ(talk(sessions, kSeven, 2), 2U);
}

TEST_F(ChatSessionsTest, bytes_of_all_are_limited_by_forgetting) {
  ChatSessions sessions = make({.bytes = 3000});
  talk(sessions, SessionId(1), 0, std::string(1000, 'x'));
  talk(sessions, SessionId(2), 1, std::string(1000, 'x'));
  talk(sessions, SessionId(3), 2, "?", std::string(1000, 'x'));
  EXPECT_THAT(forgotten_, ElementsAre(1U));
  talk(sessions, SessionId(4), 3, "?", std::string(5000, 'x'));  // too much even alone
  EXPECT_THAT(forgotten_, ElementsAre(1U, 2U, 3U, 4U));
  EXPECT_EQ(sessions.bytes(), 0U);
}

TEST_F(ChatSessionsTest, a_session_that_is_forgotten_during_a_turn_does_not_keep_it) {
  ChatSessions sessions = make({});
  EXPECT_FALSE(sessions.forget(kSeven));
  talk(sessions, kSeven, 0);
  auto turn = sessions.begin({kSeven, {}}, Json::array({user("a")}), at(1)).value();
  EXPECT_TRUE(sessions.forget(kSeven));
  EXPECT_EQ(turn.messages().size(), 3U);  // it goes on as it began
  turn.keep(assistant("b"), at(2));
  EXPECT_THAT(forgotten_, ElementsAre(7U));  // with the KV that the turn has left
  EXPECT_EQ(sessions.bytes(), 0U);
  EXPECT_EQ(talk(sessions, kSeven, 3), 0U);
}

/// Random turns, kept and not, of few sessions with tight limits; a plain map of what must be there
/// unless it was said to be forgotten is the oracle.
TEST_F(ChatSessionsTest, keeps_the_limits_and_every_message_whatever_happens) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t n) { return random() % n; };
    const ChatSessionLimits limits{.sessions = 3,
                                   .session_bytes = 2000,
                                   .bytes = 4000,
                                   .idle_timeout = std::chrono::seconds(50)};
    std::map<std::uint64_t, Json> expected;
    ChatSessions sessions(limits, [&](SessionId session) { expected.erase(session.value); });
    std::map<std::uint64_t, ChatSessions::Turn> open;
    int seconds = 0;
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t id = below(5);
      const auto now = at(seconds += static_cast<int>(below(20)));
      const auto turn = open.find(id);
      if (turn == open.end() && below(8) == 0) {
        EXPECT_EQ(sessions.forget(SessionId(id)), expected.erase(id) > 0);
      } else if (turn == open.end()) {
        const Json added = Json::array({user(std::string(below(900), 'q'))});
        auto begun = sessions.begin({SessionId(id), {}}, added, now);
        if (!begun) continue;
        Json all = expected.contains(id) ? expected[id] : Json::array();
        EXPECT_EQ(begun->messages_before(), all.size());
        all.push_back(added[0]);
        EXPECT_EQ(begun->messages(), all);
        open.emplace(id, *std::move(begun));
      } else {
        if (below(3) > 0) {
          const Json answer = assistant(std::string(below(900), 'a'));
          expected[id] = turn->second.messages();
          expected[id].push_back(answer);
          turn->second.keep(answer, now);
        }
        open.erase(turn);
      }
      EXPECT_LE(sessions.count(), limits.sessions);
      EXPECT_LE(sessions.bytes(), limits.bytes);
      std::uint64_t bytes = 0;
      for (const auto& [session, messages] : expected) {
        for (const Json& message : messages) bytes += ChatSessions::bytes_of(message);
      }
      EXPECT_EQ(sessions.bytes(), bytes);
    }
  }
}

}  // namespace
}  // namespace forge::serve
