#include "chat_sessions.h"

#include <string>

#include "forge/core/check.h"

namespace forge::serve {
namespace {

std::uint64_t bytes_of_each(const ChatSessions::Messages& messages) {
  std::uint64_t bytes = 0;
  for (const auto& message : messages) bytes += ChatSessions::bytes_of(message);
  return bytes;
}

ApiError conflict(std::string message, std::string code) {
  ApiError error = request_error(409, std::move(message), std::move(code));
  error.param = "session";
  return error;
}

}  // namespace

ChatSessions::Turn::Turn(ChatSessions& sessions, Sessions::iterator session, Messages added,
                         Clock::time_point begun)
    : sessions_(&sessions), session_(session), added_(std::move(added)), begun_(begun) {}

ChatSessions::Turn::Turn(Turn&& other) noexcept
    : sessions_(std::exchange(other.sessions_, nullptr)),
      session_(other.session_),
      added_(std::move(other.added_)),
      begun_(other.begun_) {}

ChatSessions::Turn::~Turn() {
  if (sessions_ != nullptr) sessions_->end_turn(session_, begun_);
}

std::size_t ChatSessions::Turn::messages_before() const { return session_->second.messages.size(); }

ChatSessions::Messages ChatSessions::Turn::messages() const {
  Messages all = session_->second.messages;
  all.insert(all.end(), added_.begin(), added_.end());
  return all;
}

void ChatSessions::Turn::keep(nlohmann::ordered_json answer, Clock::time_point now) {
  FORGE_CHECK(sessions_ != nullptr, "session ", session_->first.value, ": the turn is over");
  ChatSessions& sessions = *std::exchange(sessions_, nullptr);
  Session& session = session_->second;
  const SessionId id = session_->first;
  if (session.is_forgotten) {
    sessions.end_turn(session_, now);
    return sessions.forgotten_(id);
  }
  added_.push_back(std::move(answer));
  const std::uint64_t bytes = bytes_of_each(added_);
  for (auto& message : added_) session.messages.push_back(std::move(message));
  session.bytes += bytes;
  sessions.bytes_ += bytes;
  sessions.end_turn(session_, now);
  while (sessions.bytes_ > sessions.limits_.bytes && sessions.forget_longest_idle()) {
  }
}

tl::expected<ChatSessions::Turn, ApiError> ChatSessions::begin(const Claim& claim,
                                                               Messages messages,
                                                               Clock::time_point now) {
  while (!idle_.empty() && idle_.begin()->first + limits_.idle_timeout <= now) {
    forget_longest_idle();
  }
  const auto known = sessions_.find(claim.session);
  if (known != sessions_.end() && known->second.has_turn) {
    return tl::unexpected(conflict(
        "the session has another turn under way; accepted is one at a time", "session_busy"));
  }
  const std::size_t count = known == sessions_.end() ? 0 : known->second.messages.size();
  if (claim.messages.value_or(count) != count) {
    return tl::unexpected(conflict("the session has " + std::to_string(count) +
                                       " messages, and session_messages is " +
                                       std::to_string(*claim.messages),
                                   "session_mismatch"));
  }
  const std::uint64_t kept = known == sessions_.end() ? 0 : known->second.bytes;
  if (const std::uint64_t added = bytes_of_each(messages); kept + added > limits_.session_bytes) {
    return tl::unexpected(too_long(kept, added));
  }
  if (known == sessions_.end() && sessions_.size() >= limits_.sessions && !forget_longest_idle()) {
    return tl::unexpected(server_error(503,
                                       "all of the " + std::to_string(limits_.sessions) +
                                           " sessions that this server keeps have a turn under way",
                                       "sessions_full"));
  }
  const auto session = sessions_.try_emplace(claim.session).first;
  idle_.erase({session->second.idle_since, session->first});
  session->second.has_turn = true;
  return Turn(*this, session, std::move(messages), now);
}

ApiError ChatSessions::too_long(std::uint64_t kept, std::uint64_t added) const {
  return bad_field("session",
                   "the session has messages of " + std::to_string(kept) +
                       " bytes, and this request adds " + std::to_string(added) +
                       "; accepted are up to " + std::to_string(limits_.session_bytes),
                   "session_too_long");
}

bool ChatSessions::forget(SessionId session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return false;
  if (found->second.has_turn) {
    found->second.is_forgotten = true;
  } else {
    erase(found);
  }
  return true;
}

std::uint64_t ChatSessions::bytes_of(const nlohmann::ordered_json& json) {
  std::uint64_t bytes = sizeof json;
  if (json.is_string()) return bytes + json.get_ref<const std::string&>().size();
  if (json.is_array()) {
    for (const auto& element : json) bytes += bytes_of(element);
  }
  if (json.is_object()) {
    for (const auto& [name, element] : json.items()) {
      bytes += sizeof(std::string) + name.size() + bytes_of(element);
    }
  }
  return bytes;
}

/// The session has no turn any more, and whatever messages it has.
void ChatSessions::end_turn(Sessions::iterator session, Clock::time_point now) {
  Session& entry = session->second;
  entry.has_turn = false;
  if (entry.is_forgotten || entry.messages.empty()) return erase(session);
  entry.idle_since = now;
  idle_.insert({now, session->first});
}

void ChatSessions::erase(Sessions::iterator session) {
  bytes_ -= session->second.bytes;
  idle_.erase({session->second.idle_since, session->first});
  sessions_.erase(session);
}

/// False if none is idle.
bool ChatSessions::forget_longest_idle() {
  if (idle_.empty()) return false;
  const SessionId session = idle_.begin()->second;
  erase(sessions_.find(session));
  forgotten_(session);
  return true;
}

}  // namespace forge::serve
