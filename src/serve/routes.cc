#include "routes.h"

#include <array>
#include <boost/beast/core/string.hpp>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "forge/core/names.h"
#include "forge/core/quoted.h"
#include "generation.h"
#include "request_body.h"
#include "tokenizer_api.h"

namespace forge::serve {
namespace {

enum class Endpoint {
  health,
  models,
  model,
  generate,
  completions,
  chat,
  cache_stats,
  cache_clear,
  session,
  tokenize,
  detokenize,
  tokenizer_info,
};
enum class Method { get, post, del };
constexpr Names<Method> names_of(Method) { return {"GET", "POST", "DELETE"}; }

struct Route {
  std::string_view path;
  Endpoint endpoint;
  Method method;
  bool takes_id = false;  // what follows the path
};

constexpr std::array kRoutes = {
    Route{"/healthz", Endpoint::health, Method::get},
    Route{"/health", Endpoint::health, Method::get},
    Route{"/v1/models", Endpoint::models, Method::get},
    Route{"/v1/models/", Endpoint::model, Method::get, true},
    Route{"/generate", Endpoint::generate, Method::post},
    Route{"/v1/completions", Endpoint::completions, Method::post},
    Route{"/v1/chat/completions", Endpoint::chat, Method::post},
    Route{"/forge/v1/cache/stats", Endpoint::cache_stats, Method::get},
    Route{"/forge/v1/cache/clear", Endpoint::cache_clear, Method::post},
    Route{"/forge/v1/sessions/", Endpoint::session, Method::del, true},
    Route{"/tokenize", Endpoint::tokenize, Method::post},
    Route{"/detokenize", Endpoint::detokenize, Method::post},
    Route{"/tokenizer_info", Endpoint::tokenizer_info, Method::get},
};

constexpr const char* kMethods = "GET, HEAD, POST, DELETE, OPTIONS";

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// The path of a target: "/a?b" and "http://host/a" both have "/a".
std::string_view path_of(const HttpHeader& header) {
  std::string_view target = view(header.target());
  for (const std::string_view scheme : {"http://", "https://"}) {
    const std::string_view start = target.substr(0, scheme.size());
    if (!boost::beast::iequals({start.data(), start.size()}, {scheme.data(), scheme.size()})) {
      continue;
    }
    const std::size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find('?'));
}

/// "my%20model" is "my model"; what is no escape stands for itself. Source: RFC 3986, section 2.1.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

const Route* find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (route.takes_id ? path.starts_with(route.path) : path == route.path) return &route;
  }
  return nullptr;
}

bool takes(const Route& route, http::verb verb) {
  switch (route.method) {
    case Method::get:
      return verb == http::verb::get || verb == http::verb::head;
    case Method::post:
      return verb == http::verb::post;
    case Method::del:
      return verb == http::verb::delete_;
  }
  return false;
}

Reply unknown_path(std::string_view path) {
  std::string message = "unknown path " + in_quotes(path) + ": there are";
  for (const Route& route : kRoutes) {
    message += " " + std::string(name_of(route.method)) + " " + std::string(route.path) +
               (route.takes_id ? "ID" : "");
  }
  return reply_of(request_error(404, message, "not_found"));
}

Reply wrong_method(const HttpHeader& header, const Route& route) {
  const std::string allowed =
      route.method == Method::get ? "GET, HEAD" : std::string(name_of(route.method));
  Reply reply = reply_of(request_error(405,
                                       in_quotes(path_of(header)) + " does not take " +
                                           printable(view(header.method_string())) +
                                           ": accepted are " + allowed,
                                       "method_not_allowed"));
  reply.headers.emplace_back(http::field::allow, allowed);
  return reply;
}

/// Methods are case-sensitive: "get" is none (RFC 9110, section 9.1).
Reply unknown_method(const HttpHeader& header) {
  return reply_of(request_error(501,
                                "the method " + in_quotes(view(header.method_string())) +
                                    " does not exist here: there are " + kMethods,
                                "unknown_method"));
}

/// A body without a Content-Type is taken for JSON.
bool is_json(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return type.empty() || boost::beast::iequals({type.data(), type.size()}, "application/json");
}

std::optional<Reply> refuse_body_kind(const HttpHeader& header) {
  const std::string_view type = view(header[http::field::content_type]);
  const std::string_view encoding = view(header[http::field::content_encoding]);
  const bool encoded =
      !encoding.empty() && !boost::beast::iequals({encoding.data(), encoding.size()}, "identity");
  if (is_json(type) && !encoded) return std::nullopt;
  const std::string found =
      encoded ? "Content-Encoding " + in_quotes(encoding) : "Content-Type " + in_quotes(type);
  return reply_of(request_error(415,
                                found + " is not read: send plain application/json " +
                                    "(curl: -H 'Content-Type: application/json')",
                                "unsupported_media_type"));
}

nlohmann::ordered_json trace_json(const engine::TraceStatus& trace) {
  nlohmann::ordered_json body = {{"state", trace.failure ? "failed" : "recording"},
                                 {"steps", trace.steps}};
  if (trace.failure) body["reason"] = *trace.failure;
  return body;
}

nlohmann::ordered_json drafts_json(const ServerState& state, const engine::EngineStatus& status) {
  nlohmann::ordered_json body = {{"source", state.model.draft_source},
                                 {"proposed", status.drafts.proposed},
                                 {"accepted", status.drafts.accepted}};
  if (status.draft_alarm) body["alarm"] = *status.draft_alarm;
  return body;
}

constexpr std::string_view kHealthy = "ok";

/// kHealthy, or why requests should go elsewhere.
std::string_view health_of(const ServerState& state, const engine::EngineStatus& status) {
  if (status.target_lost) return "target_lost";
  if (state.shutting_down) return "shutting_down";
  const bool stalled = status.waiting + status.running > 0 &&
                       status.stalled_steps >= state.options.health_stall_steps;
  return stalled ? "stalled" : kHealthy;
}

/// A trace that cannot be written makes no answer wrong, nor do drafts that are not kept: they are
/// told and nobody is turned away.
Reply health(const ServerState& state) {
  const engine::EngineStatus status = state.loop.status();
  const std::string_view state_name = health_of(state, status);
  nlohmann::ordered_json body = {{"status", state_name},
                                 {"waiting", status.waiting},
                                 {"running", status.running},
                                 {"steps", status.steps},
                                 {"stalled_steps", status.stalled_steps},
                                 {"generated_tokens", status.generated_tokens},
                                 {"preemptions", status.preemptions},
                                 {"free_blocks", status.free_blocks},
                                 {"total_blocks", status.total_blocks},
                                 {"connections", state.connections.count()}};
  if (!state.model.draft_source.empty()) body["drafts"] = drafts_json(state, status);
  if (status.target_lost) body["reason"] = *status.target_lost;
  if (status.trace) body["trace"] = trace_json(*status.trace);
  return {.status = state_name == kHealthy ? 200U : 503U, .body = body.dump()};
}

Reply cache_stats(const ServerState& state) {
  const engine::EngineStatus status = state.loop.status();
  const PrefixCacheStatistics& cache = status.prefix_cache;
  const nlohmann::ordered_json body = {{"prefix_cache", name_of(state.loop.config().prefix_cache)},
                                       {"queries", cache.queries},
                                       {"hits", cache.hits},
                                       {"query_tokens", cache.query_tokens},
                                       {"hit_tokens", cache.hit_tokens},
                                       {"recovered_tokens", cache.recovered_tokens},
                                       {"evictions", cache.evictions},
                                       {"sessions", status.sessions},
                                       {"chat_sessions", state.chat_sessions.count()},
                                       {"chat_session_bytes", state.chat_sessions.bytes()},
                                       {"evictable_blocks", status.evictable_blocks},
                                       {"free_blocks", status.free_blocks},
                                       {"total_blocks", status.total_blocks},
                                       {"swaps", status.swaps},
                                       {"swapped_sequences", status.swapped},
                                       {"free_host_blocks", status.free_host_blocks},
                                       {"total_host_blocks", status.total_host_blocks}};
  return {.body = body.dump()};
}

Reply model_entry(std::string_view id, const ModelCard& model) {
  if (id == model.id) return {.body = model_json(model)};
  return reply_of(model_not_found(id, model));
}

Answer session_release(std::string_view id) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value);
  if (error == std::errc() && end == id.data() + id.size() && value <= kSessionIdMax) {
    return SessionRelease{SessionId(value)};
  }
  return reply_of(request_error(400, in_quotes(id) +
                                         " is not the id of a session: accepted are integers "
                                         "from 0 to " +
                                         std::to_string(kSessionIdMax)));
}

/// Takes no fields.
Answer cache_clear(const std::string& body) {
  if (body.empty()) return CacheClear{};
  if (const auto error = read_body(body, [](const json::Fields&) {})) return reply_of(*error);
  return CacheClear{};
}

/// More prompts than the queue can hold will never be taken, so the client need not come again.
std::optional<ApiError> queue_error(const UntokenizedRequest& request, std::size_t queue_limit) {
  if (request.prompts.size() <= queue_limit) return std::nullopt;
  return bad_field("prompt", "prompt has " + std::to_string(request.prompts.size()) +
                                 " prompts; accepted are 1 .. " + std::to_string(queue_limit) +
                                 ", as many as the queue of this server holds");
}

/// Refuses whatever can be refused before texts become tokens.
Answer job(RequestKind kind, const std::string& body, const ServerState& state) {
  if (state.shutting_down) return reply_of(engine::LoopError(engine::ShuttingDown{}));
  auto parsed = parse_request(kind, body, state.model);
  if (!parsed) return reply_of(parsed.error());
  if (is_of_tokenizer(kind)) return *std::move(parsed);
  if (const auto error = length_error(*parsed, state.model, state.loop.tokenizer())) {
    return reply_of(*error);
  }
  if (const auto error = queue_error(*parsed, state.loop.options().queue_limit)) {
    return reply_of(*error);
  }
  if (const auto taken = Generation::would_start(state.loop, *parsed); !taken) {
    return reply_of(taken.error());
  }
  return *std::move(parsed);
}

}  // namespace

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
  if (std::holds_alternative<engine::ShuttingDown>(error)) {
    return reply_of(server_error(503, message, "shutting_down"));
  }
  if (std::holds_alternative<engine::TargetLost>(error)) {
    return reply_of(server_error(503, message, "target_lost"));
  }
  return reply_of(request_error(400, message));
}

Reply session_released(SessionId session, bool known) {
  const std::string id = std::to_string(session.value);
  if (!known) {
    return reply_of(request_error(
        404,
        "there is no session " + id + ": nothing is kept for it and no request of it is running",
        "session_not_found"));
  }
  const nlohmann::ordered_json body = {
      {"id", session.value}, {"object", "session"}, {"deleted", true}};
  return {.body = body.dump()};
}

Reply cache_cleared() { return {.body = R"({"cleared":true})"}; }

bool asks_for_health(const HttpHeader& header) {
  const Route* route = find_route(path_of(header));
  return route != nullptr && route->endpoint == Endpoint::health && takes(*route, header.method());
}

std::optional<Reply> refuse_header(const HttpHeader& header) {
  if (header.method() == http::verb::unknown) return unknown_method(header);
  const std::string_view path = path_of(header);
  const Route* route = find_route(path);
  if (route == nullptr) return unknown_path(path);
  if (!takes(*route, header.method())) return wrong_method(header, *route);
  return route->method == Method::post ? refuse_body_kind(header) : std::nullopt;
}

Answer route(const HttpRequest& request, const ServerState& state) {
  if (request.method() == http::verb::options && request.target() == "*") {
    return Reply{.headers = {{http::field::allow, kMethods}}};
  }
  if (auto refusal = refuse_header(request)) return std::move(*refusal);
  const std::string_view path = path_of(request);
  const Route& found = *find_route(path);
  const std::string id = percent_decoded(path.substr(found.path.size()));
  switch (found.endpoint) {
    case Endpoint::health:
      return health(state);
    case Endpoint::models:
      return Reply{.body = models_json(state.model)};
    case Endpoint::model:
      return model_entry(id, state.model);
    case Endpoint::cache_stats:
      return cache_stats(state);
    case Endpoint::cache_clear:
      return cache_clear(request.body());
    case Endpoint::session:
      return session_release(id);
    case Endpoint::generate:
      return job(RequestKind::generate, request.body(), state);
    case Endpoint::chat:
      return job(RequestKind::chat, request.body(), state);
    case Endpoint::tokenize:
      return job(RequestKind::tokenize, request.body(), state);
    case Endpoint::detokenize:
      return job(RequestKind::detokenize, request.body(), state);
    case Endpoint::tokenizer_info:
      return Reply{.body = tokenizer_info(state.model, state.loop.tokenizer())};
    case Endpoint::completions:
      break;
  }
  return job(RequestKind::completions, request.body(), state);
}

}  // namespace forge::serve
