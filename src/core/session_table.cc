#include "forge/core/session_table.h"

#include "forge/core/check.h"

namespace forge {

void SessionTable::begin_request(SessionId session) {
  Session& entry = sessions_[session];
  if (entry.active++ == 0) idle_.erase({entry.idle_since, session});
}

void SessionTable::end_request(SessionId session, StepId now) {
  Session& entry = sessions_.at(session);
  FORGE_CHECK(entry.active > 0, "session ", session.value, " has no request");
  if (--entry.active > 0) return;
  entry.idle_since = now;
  idle_.insert({now, session});
}

std::optional<SessionId> SessionTable::idle_since(StepId step) const {
  if (idle_.empty() || idle_.begin()->first > step) return std::nullopt;
  return idle_.begin()->second;
}

std::optional<SessionId> SessionTable::first_to_end() const {
  if (!idle_.empty()) return idle_.begin()->second;
  for (const auto& [id, session] : sessions_) {
    if (!session.pinned.empty()) return id;
  }
  return std::nullopt;
}

void SessionTable::end(SessionId session) {
  Session& entry = sessions_.at(session);
  entry.pinned.clear();
  if (entry.active > 0) return;
  idle_.erase({entry.idle_since, session});
  sessions_.erase(session);
}

}  // namespace forge
