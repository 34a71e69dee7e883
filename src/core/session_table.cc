#include "forge/core/session_table.h"

#include "forge/core/check.h"
#include "forge/core/policy.h"

namespace forge {
namespace {

SessionView view_of(SessionId id, const SessionTable::Session& session) {
  return {id, session.active > 0, session.idle_since, session.pinned.size()};
}

}  // namespace

bool SessionTable::GivesWay::operator()(const SessionView& a, const SessionView& b) const {
  return gives_way_before(a, b);
}

void SessionTable::enter_orders(SessionId id, const Session& session) {
  if (session.active == 0) idle_.insert({session.idle_since, id});
  if (session.active == 0 || !session.pinned.empty()) to_end_.insert(view_of(id, session));
}

void SessionTable::leave_orders(SessionId id, const Session& session) {
  idle_.erase({session.idle_since, id});
  to_end_.erase(view_of(id, session));
}

void SessionTable::begin_request(SessionId session) {
  Session& entry = sessions_[session];
  leave_orders(session, entry);
  ++entry.active;
  enter_orders(session, entry);
}

void SessionTable::end_request(SessionId session, StepId now) {
  Session& entry = sessions_.at(session);
  FORGE_CHECK(entry.active > 0, "session ", session.value, " has no request");
  leave_orders(session, entry);
  if (--entry.active == 0) entry.idle_since = now;
  enter_orders(session, entry);
}

std::vector<BlockId> SessionTable::exchange_pins(SessionId session, std::vector<BlockId> pins) {
  Session& entry = sessions_.at(session);
  leave_orders(session, entry);
  entry.pinned.swap(pins);
  enter_orders(session, entry);
  return pins;
}

std::optional<SessionId> SessionTable::idle_since(StepId step) const {
  if (idle_.empty() || idle_.begin()->first > step) return std::nullopt;
  return idle_.begin()->second;
}

std::optional<SessionId> SessionTable::first_to_end() const {
  if (to_end_.empty()) return std::nullopt;
  return to_end_.begin()->session;
}

std::vector<BlockId> SessionTable::end(SessionId session) {
  std::vector<BlockId> pins = exchange_pins(session, {});
  const Session& entry = sessions_.at(session);
  if (entry.active > 0) return pins;
  leave_orders(session, entry);
  sessions_.erase(session);
  return pins;
}

}  // namespace forge
