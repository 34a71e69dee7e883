#include "reply.h"

#include <variant>

namespace forge::serve {

Reply reply_of(const ApiError& error) {
  Reply reply{.status = error.status, .body = to_json(error)};
  const bool may_pass = error.status == 503 && error.code != "target_lost";
  if (may_pass) reply.headers.emplace_back(http::field::retry_after, "1");
  return reply;
}

Reply reply_of(const engine::LoopError& error) {
  const std::string message = to_string(error);
  if (std::holds_alternative<engine::QueueFull>(error)) {
    return reply_of(server_error(503, message, "queue_full"));
  }
  if (std::holds_alternative<engine::MemoryPressure>(error)) {
    return reply_of(server_error(503, message, "memory_pressure"));
  }
  if (std::holds_alternative<engine::ShuttingDown>(error)) {
    return reply_of(server_error(503, message, "shutting_down"));
  }
  if (std::holds_alternative<engine::TargetLost>(error)) {
    return reply_of(server_error(503, message, "target_lost"));
  }
  return reply_of(request_error(400, message));
}

}  // namespace forge::serve
