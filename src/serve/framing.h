// The bytes of an answer on the wire. Pure functions; RFC 9112 has the forms.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reply.h"

namespace forge::serve {

/// The parts of a request that shape the framing of its answer.
struct Framing {
  bool http_1_0 = false;    ///< no chunks: the end of the connection ends a stream
  bool head_only = false;   ///< HEAD: the header of the answer without its body
  bool keep_alive = false;  ///< what the client asked for
  std::string request_id;   ///< the client's X-Request-Id, or one that was drawn; in every answer
  /// Whose page may read the answer (cors.h); empty: none that a browser would have to ask for.
  std::string allowed_origin = {};
  /// More of the answer's header, on how the client stands with its limits (rate_limits.h).
  std::vector<std::pair<std::string, std::string>> limits = {};
};
Framing framing_of(const HttpHeader& header, bool keep_alive);
/// Whether a client may call a request so: by 1 to 128 visible characters of ASCII.
bool is_request_id(std::string_view id);
/// The framing of the answer to a client that has sent no header.
Framing new_framing();

std::string reply_bytes(const Reply& reply, const Framing& framing);

// A stream of Server-Sent Events: its header, then parts of one or more events, then its end. Or of
// lines of JSON, likewise.
inline constexpr std::string_view kEvents = "text/event-stream; charset=utf-8";
inline constexpr std::string_view kJsonLines = "application/x-ndjson";
std::string stream_header(const Framing& framing, std::string_view content_type = kEvents);
/// One event: "data: ...", which must not hold a line break.
std::string event(std::string_view data);
/// Requires: `events` is not empty.
std::string stream_part(std::string_view events, const Framing& framing);
std::string stream_end(const Framing& framing);

}  // namespace forge::serve
