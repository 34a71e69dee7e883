#include "routes.h"

#include <array>
#include <boost/beast/core/string.hpp>
#include <nlohmann/json.hpp>
#include <string_view>

namespace forge {
namespace {

constexpr std::string_view kModelsPath = "/v1/models";
constexpr std::string_view kModelPrefix = "/v1/models/";

enum class Endpoint { health, models, model, generate, completions };

struct Route {
  std::string_view path;
  Endpoint endpoint;
  bool is_post;
};

constexpr std::array kRoutes = {
    Route{"/healthz", Endpoint::health, false},
    Route{kModelsPath, Endpoint::models, false},
    Route{"/generate", Endpoint::generate, true},
    Route{"/v1/completions", Endpoint::completions, true},
};

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// The path of a target: "/a?b" and "http://host/a" both have "/a".
std::string_view path_of(const HttpHeader& header) {
  std::string_view target = view(header.target());
  constexpr std::string_view kScheme = "http://";
  if (target.starts_with(kScheme)) {
    const std::size_t slash = target.find('/', kScheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find('?'));
}

std::optional<Route> find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (route.path == path) return route;
  }
  if (path.starts_with(kModelPrefix)) return Route{path, Endpoint::model, false};
  return std::nullopt;
}

Reply unknown_path(std::string_view path) {
  std::string message = "unknown path '" + std::string(path) + "': there are";
  for (const Route& route : kRoutes) {
    message += std::string(route.is_post ? " POST " : " GET ") + std::string(route.path);
  }
  return reply_of(request_error(404, message, "not_found"));
}

Reply wrong_method(const HttpHeader& header, const Route& route) {
  const std::string allowed = route.is_post ? "POST" : "GET, HEAD";
  Reply reply = reply_of(request_error(405,
                                       "'" + std::string(route.path) + "' does not take " +
                                           std::string(view(header.method_string())) +
                                           ": accepted are " + allowed,
                                       "method_not_allowed"));
  reply.headers.emplace_back(http::field::allow, allowed);
  return reply;
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
  const std::string found = encoded ? "Content-Encoding '" + std::string(encoding) + "'"
                                    : "Content-Type '" + std::string(type) + "'";
  return reply_of(request_error(415,
                                found + " is not read: send plain application/json " +
                                    "(curl: -H 'Content-Type: application/json')",
                                "unsupported_media_type"));
}

Reply health(const ServerState& state) {
  const EngineStatus status = state.loop.status();
  const bool stalled = status.waiting + status.running > 0 &&
                       status.stalled_steps >= state.options.health_stall_steps;
  const nlohmann::ordered_json body = {{"status", stalled ? "stalled" : "ok"},
                                       {"waiting", status.waiting},
                                       {"running", status.running},
                                       {"steps", status.steps},
                                       {"stalled_steps", status.stalled_steps},
                                       {"generated_tokens", status.generated_tokens},
                                       {"preemptions", status.preemptions},
                                       {"free_blocks", status.free_blocks},
                                       {"total_blocks", status.total_blocks}};
  return {.status = stalled ? 503U : 200U, .body = body.dump()};
}

Reply model_entry(std::string_view path, const ModelCard& model) {
  const std::string_view id = path.substr(kModelPrefix.size());
  if (id == model.id) return {.body = model_json(model)};
  return reply_of(ApiError{.status = 404,
                           .message = "the model '" + std::string(id) +
                                      "' does not exist; this server has '" + model.id + "'",
                           .param = "model",
                           .code = "model_not_found"});
}

std::variant<Reply, Job> job(tl::expected<CompletionRequest, ApiError> parsed, Job::Shape shape) {
  if (!parsed) return reply_of(parsed.error());
  return Job{std::move(*parsed), shape};
}

}  // namespace

Reply reply_of(const ApiError& error) {
  Reply reply{.status = error.status, .body = to_json(error)};
  if (error.status == 503) reply.headers.emplace_back(http::field::retry_after, "1");
  return reply;
}

Reply reply_of(const LoopError& error) {
  const std::string message = to_string(error);
  if (std::holds_alternative<QueueFull>(error)) {
    return reply_of(server_error(503, message, "queue_full"));
  }
  if (std::holds_alternative<ShuttingDown>(error)) {
    return reply_of(server_error(503, message, "shutting_down"));
  }
  return reply_of(request_error(400, message));
}

std::optional<Reply> refuse_header(const HttpHeader& header) {
  const std::string_view path = path_of(header);
  const auto route = find_route(path);
  if (!route) return unknown_path(path);
  const http::verb method = header.method();
  const bool taken = route->is_post ? method == http::verb::post
                                    : method == http::verb::get || method == http::verb::head;
  if (!taken) return wrong_method(header, *route);
  return route->is_post ? refuse_body_kind(header) : std::nullopt;
}

std::variant<Reply, Job> route(const HttpRequest& request, const ServerState& state) {
  if (auto refusal = refuse_header(request)) return std::move(*refusal);
  const std::string_view path = path_of(request);
  const Endpoint endpoint = find_route(path)->endpoint;
  switch (endpoint) {
    case Endpoint::health:
      return health(state);
    case Endpoint::models:
      return Reply{.body = models_json(state.model)};
    case Endpoint::model:
      return model_entry(path, state.model);
    case Endpoint::generate:
    case Endpoint::completions:
      break;
  }
  if (state.shutting_down) return reply_of(LoopError(ShuttingDown{}));
  if (endpoint == Endpoint::generate) {
    return job(parse_generate_request(request.body(), state.model), Job::Shape::generate);
  }
  return job(parse_completion_request(request.body(), state.model), Job::Shape::completion);
}

}  // namespace forge
