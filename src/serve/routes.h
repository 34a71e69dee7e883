// Routes: which request gets which answer, without any I/O.
//
// Thread contract: the I/O thread, for the server's state.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "forge/serve/api_error.h"
#include "forge/serve/openai_api.h"
#include "server_state.h"

namespace forge::serve {

namespace http = boost::beast::http;
using HttpHeader = http::request_header<>;
using HttpRequest = http::request<http::string_body>;

/// A whole answer: JSON, but for its framing ready to be sent.
struct Reply {
  unsigned status = 200;
  std::string body;
  std::vector<std::pair<http::field, std::string>> headers = {};
};

Reply reply_of(const ApiError& error);
/// 503 for what this server cannot run now or any more, 400 for a request that never could be.
Reply reply_of(const engine::LoopError& error);

struct SessionRelease {
  SessionId session;
};
struct CacheClear {};

/// A reply, or what can only be answered by the engine.
using Answer = std::variant<Reply, UntokenizedRequest, SessionRelease, CacheClear>;

/// The answer to a request that its header alone condemns: unknown path, wrong method, a body
/// of a kind that is not read.
std::optional<Reply> refuse_header(const HttpHeader& header);

/// Whether the request asks for the server's health, which is answered even when every place is
/// taken.
bool asks_for_health(const HttpHeader& header);

Answer route(const HttpRequest& request, const ServerState& state);

Reply session_released(SessionId session, bool known);
Reply cache_cleared();

}  // namespace forge::serve
