// SessionTable: the KV of conversations, kept between their turns.
//
// When a request of a session comes to its end (eos, length or stop; not cancelled, not failed),
// its published blocks are pinned for the session in place of those of the turn before. The next
// turn's prompt starts with the last one's prompt and output, so it finds them in the prefix
// index, however busy the cache was meanwhile.
//
// A session is active while a request of it is unfinished, else idle. It ends when the caller
// releases it or when it has been idle for too many steps. Pins must not stop the world: when
// nothing can run otherwise, the scheduler ends sessions too, in the order of the policy
// (gives_way_before, policy.h).
//
// Holds lists of blocks; pinning and unpinning them is the caller's business. Allocates when a
// request of a session begins or ends, and then only. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/session_view.h"

namespace forge {

class SessionTable {
 public:
  struct Session {
    std::uint32_t active = 0;  ///< unfinished requests
    StepId idle_since;         ///< while there are none
    std::vector<BlockId> pinned;
  };

  /// Records that a request of `session` was submitted; a session begins with its first request.
  void begin_request(SessionId session);

  /// Records that a request of `session` has ended. Requires: it was begun.
  void end_request(SessionId session, StepId now);

  /// Makes `pins` the blocks that are pinned for `session`, and returns those that were pinned
  /// before. Requires: the session exists.
  std::vector<BlockId> exchange_pins(SessionId session, std::vector<BlockId> pins);

  /// The session that has been idle for longest (ties to the lower id), if that is since `step` or
  /// earlier.
  std::optional<SessionId> idle_since(StepId step) const;

  /// The session to end when memory is needed: the first to give way among those that are idle or
  /// have pins.
  std::optional<SessionId> first_to_end() const;

  /// Forgets the session, or, while it is active, its pins alone. Returns the pins. Requires: it
  /// exists.
  std::vector<BlockId> end(SessionId session);

  bool contains(SessionId session) const { return sessions_.contains(session); }
  const std::map<SessionId, Session>& all() const { return sessions_; }

 private:
  struct GivesWay {
    bool operator()(const SessionView& a, const SessionView& b) const;
  };

  void enter_orders(SessionId id, const Session& session);
  void leave_orders(SessionId id, const Session& session);

  std::map<SessionId, Session> sessions_;
  std::set<std::pair<StepId, SessionId>> idle_;  // (idle since, session)
  std::set<SessionView, GivesWay> to_end_;       // idle ones, and those that have pins
};

}  // namespace forge
