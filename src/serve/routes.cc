#include "routes.h"

#include <boost/beast/websocket/rfc6455.hpp>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cors.h"
#include "forge/core/quoted.h"
#include "framing.h"

namespace forge::serve {
namespace {

constexpr const char* kMethods = "GET, HEAD, POST, DELETE, OPTIONS";

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
  for (const Route& route : routes()) {
    message += " " + std::string(name_of(route.method)) + " " + pattern_of(route);
  }
  return reply_of(request_error(404, message, "not_found"));
}

Reply wrong_method(const HttpHeader& header) {
  const std::string allowed = methods_of(path_of(header));
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

/// A body without a Content-Type is taken for what is wanted, and lines of JSON may be called JSON.
bool is_of(BodyKind kind, std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  if (type.empty() || iequals(type, "application/json")) return true;
  return kind == BodyKind::json_lines &&
         (iequals(type, kJsonLines) || iequals(type, "application/jsonl"));
}

std::optional<Reply> refuse_body_kind(const HttpHeader& header, BodyKind kind) {
  const std::string_view type = view(header[http::field::content_type]);
  const std::string_view encoding = view(header[http::field::content_encoding]);
  const bool encoded = !encoding.empty() && !iequals(encoding, "identity");
  if (is_of(kind, type) && !encoded) return std::nullopt;
  const std::string wanted(kind == BodyKind::json_lines ? kJsonLines : "application/json");
  const std::string found =
      encoded ? "Content-Encoding " + in_quotes(encoding) : "Content-Type " + in_quotes(type);
  return reply_of(request_error(
      415,
      found + " is not read: send plain " + wanted + " (curl: -H 'Content-Type: " + wanted + "')",
      "unsupported_media_type"));
}

Reply still_loading() {
  return reply_of(server_error(
      503, "the model is being loaded: GET /health/ready says when it is there", "loading"));
}

}  // namespace

std::string_view path_of(const HttpHeader& header) {
  std::string_view target = view(header.target());
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!iequals(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find('?'));
}

std::string methods_of(std::string_view path) {
  std::string methods;
  for (const Route& route : routes()) {
    if (!has_path(route, path)) continue;
    if (!methods.empty()) methods += ", ";
    methods += route.method == Method::get ? "GET, HEAD" : name_of(route.method);
  }
  return methods;
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

const Route* route_of(const HttpHeader& header) { return find_route(path_of(header)); }

Audience audience_of(const HttpHeader& header, const HttpOptions& options) {
  const Route* route = route_of(header);
  if (route == nullptr) return Audience::clients;
  return route->may_be_open && options.metrics_open ? Audience::everyone : route->audience;
}

bool is_for_everyone(const HttpHeader& header, const HttpOptions& options) {
  return audience_of(header, options) == Audience::everyone &&
         takes(*route_of(header), header.method());
}

std::optional<Reply> refuse_header(const HttpHeader& header) {
  if (header.method() == http::verb::unknown) return unknown_method(header);
  const std::string_view path = path_of(header);
  const Route* route = find_route(path);
  if (route == nullptr) return unknown_path(path);
  if (!takes(*route, header.method())) return wrong_method(header);
  const bool has_body = route->body == BodyKind::json || route->body == BodyKind::json_lines;
  return has_body ? refuse_body_kind(header, route->body) : std::nullopt;
}

bool is_read_in_lines(const HttpHeader& header) {
  const Route* route = route_of(header);
  return route != nullptr && route->body == BodyKind::json_lines && takes(*route, header.method());
}

bool is_upgrade(const HttpHeader& header) {
  const Route* route = route_of(header);
  return route != nullptr && route->body == BodyKind::messages &&
         boost::beast::websocket::is_upgrade(header);
}

Answer route(const HttpHeader& header, std::string_view body, const Client& client,
             const ServerState& state) {
  if (header.method() == http::verb::options && header.target() == "*") {
    return Reply{.headers = {{http::field::allow, kMethods}}};
  }
  if (auto reply = answer_preflight(header, state.options, state.keys.has_value())) {
    return *std::move(reply);
  }
  if (auto refusal = refuse_header(header)) return std::move(*refusal);
  const std::string_view path = path_of(header);
  const Route& found = *find_route(path);
  if (found.needs_model && !state.served) return still_loading();
  return found.handle({.body = body,
                       .id = percent_decoded(path.substr(found.path.size())),
                       .client = client,
                       .state = state});
}

}  // namespace forge::serve
