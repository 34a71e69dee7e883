// The messages of GET /forge/v1/stream, those that come and those that go: a JSON object each. What
// a client says:
//
//   {"id": "a", "route": "/v1/completions",   a request: the body is that of a POST to the route,
//    "body": {"prompt": "Hi", ...}}           with `stream` or without
//   {"cancel": "a"}                           enough of that request
//   {"key": "fk-..."}                         who it is, before anything else (access.h)
//
// What it is told of a request:
//
//   {"id": "a", "chunk": {...}}               with `stream`: what one event of it would say
//   {"id": "a", "done": true}                 with `stream`: the end
//   {"id": "a", "answer": {...}}              without: all of it, which is the end
//   {"id": "a", "cancelled": true}            the end that it asked for
//   {"id": "a", "status": 429,                the end, too: why there is no answer, or no more of
//    "retry_after": 1, "error": {...}}        it, as the status and the body of a POST say it
//
// The last four are ends: each request has one, and its id is free then. An id is what an
// X-Request-Id may be. A message that became no request has an error as well, with the id null
// unless that is known and no other request has it. `retry_after` is the header of that name, in
// seconds; without such a header it is left out.
//
// Thread contract: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

#include "forge/serve/api_error.h"
#include "reply.h"

namespace forge::serve {

struct Route;

struct StreamRequest {
  std::string id;
  const Route* route = nullptr;  ///< one that generates, of a JSON body
  std::string body;
};
struct StreamCancel {
  std::string id;
};
struct StreamKey {
  std::string key;
};
using StreamMessage = std::variant<StreamRequest, StreamCancel, StreamKey>;

/// Why a message is none of these.
struct StreamFault {
  std::optional<std::string> id;  ///< if that much is known
  ApiError error;
};

/// Does not look into the body.
tl::expected<StreamMessage, StreamFault> parse_stream_message(std::string_view text);

/// `chunk` is JSON.
std::string chunk_message(std::string_view id, std::string_view chunk);
std::string done_message(std::string_view id);
std::string cancelled_message(std::string_view id);
/// A whole answer, or an error, by the status.
std::string reply_message(const std::optional<std::string>& id, const Reply& reply);

}  // namespace forge::serve
