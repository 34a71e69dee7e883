// RequestRecord: what a log says of a request, once it has been answered or its client is gone. It
// has nothing of what the request or the answer says.
//
//   {"time":"2026-11-28T09:15:02.118Z","request_id":"a1b2","trace_id":"4bf9...","key":"alice",
//    "method":"POST","route":"/v1/completions","status":200,"prompt_tokens":18,"cached_tokens":16,
//    "completion_tokens":14,"queue_ms":0.2,"ttft_ms":3.1,"e2e_ms":9.6,"finish_reason":"stop"}
//
// What there is none of is left out: an answer without tokens has no times of tokens.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "forge/core/sequence.h"
#include "forge/engine/draft_watch.h"

namespace forge::serve {

using LogMilliseconds = std::chrono::duration<double, std::milli>;

/// What became of the choices of a request.
struct RequestTokens {
  std::uint64_t prompt = 0;
  std::uint64_t cached = 0;  ///< of the prompt, whose KV was there
  std::uint64_t completion = 0;
  engine::DraftCounts drafts;
  std::optional<LogMilliseconds> queued;  ///< until it was first admitted; the longest of several
  std::optional<LogMilliseconds> first;   ///< from its header to the first token
  FinishReason finish = FinishReason::none;  ///< of the choice that ended last; none: cut off
};

struct RequestRecord {
  std::string request_id;
  std::string trace_id;     ///< of traceparent, 32 hexadecimal digits; empty: there is none
  std::string key;          ///< name of the key; empty: none is asked for, or it is not known
  std::string method;       ///< "WS": a message of a WebSocket; empty: what came was no HTTP
  std::string route;        ///< the path of the table, with ID for what varies; empty: none
  unsigned status = 0;      ///< 0: nothing was answered
  LogMilliseconds time{0};  ///< from its header to the end of its answer
  std::optional<RequestTokens> tokens;  ///< if it ran
};

/// A line of JSON, without its end. `now`: when the request ended.
std::string to_json_line(const RequestRecord& record, std::chrono::system_clock::time_point now);

/// "2026-11-28T09:15:02.118Z".
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace forge::serve
