// ChatSessions: the messages of conversations, kept between their turns.
//
//   request {session: 7, messages: [new ones]}      ChatSessions            answer
//        |                                     kept: [m0, m1, m2, m3]          |
//        +---begin--> Turn: [m0 .. m3, new ones] ---render, run--->            |
//                        |                     kept: [m0 .. m3, new, answer] <-+ keep
//                        +--- destroyed before keep(): nothing is kept of it
//
// Each turn is the request with all messages: the prompt is rendered from all of them, so the
// answer is that to a client that sends everything each time. What the session saves is the
// sending; the KV of the turns before, which the prompt finds again up to the first token that
// differs, is kept by the scheduler under the same number (core/session_table.h).
//
// A session has one turn at a time: which of two turns came first would be nobody's decision.
//
// Sessions are forgotten when a client says so, when they have been idle for too long, and, the one
// that has been idle for longest first, when there are too many or too many bytes. A turn of a
// session that is not known begins a new one; the answer says how many messages there were, and a
// request may say how many it expects (session_messages).
//
// Invariants: 1. at most limits.sessions are known; 2. what they keep has at most limits.bytes;
// 3. a session that is known has messages or a turn under way.
//
// Bytes are those of the texts and of the JSON values around them (bytes_of). Owns the messages.
// Thread contract: the I/O thread. Time is passed in.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tl/expected.hpp>
#include <utility>

#include "forge/core/ids.h"
#include "forge/serve/api_error.h"
#include "forge/serve/http_options.h"

namespace forge::serve {

class ChatSessions {
  struct Session;
  using Sessions = std::map<SessionId, Session>;

 public:
  using Clock = std::chrono::steady_clock;
  using Messages = nlohmann::ordered_json;  // a list, as chat templates expect it

  /// What a request says of its session.
  struct Claim {
    SessionId session;
    std::optional<std::uint64_t> messages;  ///< how many it expects there
  };

  /// A turn under way. Unless it is kept, the session is afterwards as it was before.
  class Turn {
   public:
    Turn(Turn&& other) noexcept;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

    /// The number of messages that the session had before. Requires: the turn is not kept yet.
    std::size_t messages_before() const;
    /// All messages: those kept and those that the turn adds. Requires: the same.
    Messages messages() const;
    /// The turn is over: the session has its messages, too, and the answer. Called at most once.
    void keep(nlohmann::ordered_json answer, Clock::time_point now);

   private:
    friend class ChatSessions;
    Turn(ChatSessions& sessions, Sessions::iterator session, Messages added,
         Clock::time_point begun);

    ChatSessions* sessions_;  // null once it is over
    Sessions::iterator session_;
    Messages added_;
    Clock::time_point begun_;
  };

  /// `forgotten` is called with each session that is forgotten for want of place or for idleness.
  ChatSessions(const ChatSessionLimits& limits, std::function<void(SessionId)> forgotten)
      : limits_(limits), forgotten_(std::move(forgotten)) {}

  /// Begins a turn that adds `messages`. The turn must not outlive this object. Errors: 409 while
  /// another turn of the session is under way, or if it has not as many messages as claimed; 400 if
  /// it would have too many bytes; 503 if there is no place for one more session.
  tl::expected<Turn, ApiError> begin(const Claim& claim, Messages messages, Clock::time_point now);

  /// Forgets a session; a turn under way will not be kept. Returns: whether it was known.
  bool forget(SessionId session);

  std::size_t count() const { return sessions_.size(); }
  std::uint64_t bytes() const { return bytes_; }

  /// About how many bytes of memory a JSON value takes.
  static std::uint64_t bytes_of(const nlohmann::ordered_json& json);

 private:
  struct Session {
    Messages messages = Messages::array();
    std::uint64_t bytes = 0;  // of the messages
    bool has_turn = false;
    bool is_forgotten = false;     // as soon as its turn is over
    Clock::time_point idle_since;  // while it has no turn
  };

  ApiError too_long(std::uint64_t kept, std::uint64_t added) const;
  void end_turn(Sessions::iterator session, Clock::time_point now);
  void erase(Sessions::iterator session);
  bool forget_longest_idle();

  ChatSessionLimits limits_;
  std::function<void(SessionId)> forgotten_;
  Sessions sessions_;
  std::set<std::pair<Clock::time_point, SessionId>> idle_;  // (idle since, session)
  std::uint64_t bytes_ = 0;
};

}  // namespace forge::serve
