// The routes of the server, in one table. What a header is refused for, what the 404 names, what
// visitors may ask (connection_table.h) and the page that `forge-infer --list-routes` prints
// (book/routes.md) come from it.
//
// Thread contract: the table does not change; handlers run on the I/O thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "client_table.h"
#include "forge/core/names.h"
#include "forge/core/sequence.h"
#include "forge/serve/openai_api.h"
#include "http_types.h"
#include "reply.h"
#include "server_state.h"

namespace forge::serve {

struct SessionRelease {
  SessionId said;     ///< what the client calls it
  SessionId session;  ///< what the engine does
};
struct CacheClear {};
struct BatchOfLines {};
struct StreamOfMessages {};

/// A reply, or what can only be answered by the engine; of a batch, line by line, of a WebSocket,
/// message by message.
using Answer = std::variant<Reply, UntokenizedRequest, SessionRelease, CacheClear, BatchOfLines,
                            StreamOfMessages>;

enum class Method { get, post, del };
constexpr Names<Method> names_of(Method) { return {"GET", "POST", "DELETE"}; }

/// Whom a route is for.
enum class Audience {
  everyone,   ///< probes and the page; answered even when every place is taken
  clients,    ///< who asks the model: their own requests and sessions
  operators,  ///< who runs the server: what it does and keeps for all
};
constexpr Names<Audience> names_of(Audience) { return {"everyone", "clients", "operators"}; }

/// Lines of JSON are read while they are answered; all else is whole before it is routed. Messages
/// are those of a WebSocket, after an upgrade that has no body.
enum class BodyKind { none, json, json_lines, messages };
constexpr Names<BodyKind> names_of(BodyKind) { return {"none", "JSON", "JSON lines", "messages"}; }

/// What a handler answers.
struct RouteCall {
  std::string_view body;
  std::string id;  ///< what follows the path, of routes that take an id
  const Client& client;
  const ServerState& state;
};
using Handler = Answer (*)(const RouteCall& call);

struct Route {
  Method method;
  std::string_view path;
  Audience audience;
  BodyKind body;
  std::string_view what;  ///< what it answers, for the page
  Handler handle;
  bool takes_id = false;
  bool may_be_open = false;  ///< for everyone with HttpOptions::metrics_open
  bool needs_model = true;   ///< 503 until it is there
  bool generates = false;    ///< within the client's limits (rate_limits.h)
};

std::span<const Route> routes();

/// Its path as a client would write it: "/v1/models/ID".
std::string pattern_of(const Route& route);

bool has_path(const Route& route, std::string_view path);

/// Null: there is none of this path.
const Route* find_route(std::string_view path);

}  // namespace forge::serve
