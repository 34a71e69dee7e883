// The lines of POST /forge/v1/batch, those that come and those that go: OpenAI's batch files.
//
//   {"custom_id": "a", "method": "POST", "url": "/v1/completions",
//    "body": {"model": "forge-tiny", "prompt": "What is 7+8?"}}
//
// A custom_id is a text that no other line of the batch has. `method` and `url` may be left out;
// the body then says which it is, by `messages` or `prompt`. The body is that of a request of its
// own, without `stream`. What comes back has the same custom_id:
//
//   {"id": "batch_req_8f...", "custom_id": "a", "response": {"status_code": 200,
//    "request_id": "c1...", "body": {"id": "cmpl-4d...", ...}}, "error": null}
//
// A request that is refused, or fails, has its status there, and the error as the body. A line that
// never became a request has an error in place of the response:
//
//   {"id": "batch_req_8f...", "custom_id": null, "response": null,
//    "error": {"code": "invalid_line", "message": "...", "param": null, "line": 7}}
//
// Source: OpenAI API reference, "Batch", "The request input object", "The request output object".
// Thread contract: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/serve/openai_api.h"
#include "reply.h"

namespace forge::serve {

struct BatchLine {
  std::string custom_id;
  RequestKind kind = RequestKind::completions;
  std::string body;  ///< of the request
};

/// Bytes of a custom_id.
inline constexpr std::size_t kCustomIdBytesMax = 512;

/// Why a line is no request.
struct BatchFault {
  std::optional<std::string> custom_id;  ///< if that much is known
  ApiError error;
};

/// Does not look into the body.
tl::expected<BatchLine, BatchFault> parse_batch_line(std::string_view text);

/// The kind of request that POSTs to this path are, of those that a batch takes.
std::optional<RequestKind> batch_kind_of(std::string_view url);

// What comes back, each with its line break.
std::string response_line(std::string_view custom_id, std::string_view request_id,
                          const Reply& reply);
std::string fault_line(const BatchFault& fault, std::size_t line);

}  // namespace forge::serve
