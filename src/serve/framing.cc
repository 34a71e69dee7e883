#include "framing.h"

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <sstream>

#include "random_id.h"
#include "rate_limits.h"

namespace forge::serve {
namespace {

constexpr std::size_t kRequestIdBytesMax = 128;

http::response<http::empty_body> start(unsigned status, const Framing& framing) {
  http::response<http::empty_body> response;
  response.version(framing.http_1_0 ? 10 : 11);
  response.result(status);
  response.set(http::field::server, "forge");
  response.set("X-Request-Id", framing.request_id);
  if (!framing.allowed_origin.empty()) {
    response.set(http::field::access_control_allow_origin, framing.allowed_origin);
    response.set(http::field::access_control_expose_headers,
                 "Retry-After, X-Request-Id, " + std::string(kLimitHeaderNames));
    response.set(http::field::vary, "Origin");
  }
  for (const auto& [name, value] : framing.limits) response.set(name, value);
  response.keep_alive(framing.keep_alive);
  return response;
}

std::string text_of(const http::response_header<>& header) {
  std::ostringstream out;
  out << header;
  return out.str();
}

/// The last one that the client gives, if it may be one.
std::string request_id_of(const HttpHeader& header) {
  const auto [first, last] = header.equal_range("X-Request-Id");
  std::string id;
  for (auto field = first; field != last; ++field) {
    id.assign(field->value().data(), field->value().size());
  }
  return is_request_id(id) ? id : random_id();
}

}  // namespace

bool is_request_id(std::string_view id) {
  const bool visible = std::ranges::all_of(id, [](char c) { return c > ' ' && c <= '~'; });
  return visible && !id.empty() && id.size() <= kRequestIdBytesMax;
}

Framing framing_of(const HttpHeader& header, bool keep_alive) {
  return {.http_1_0 = header.version() < 11,
          .head_only = header.method() == http::verb::head,
          .keep_alive = keep_alive,
          .request_id = request_id_of(header)};
}

Framing new_framing() { return {.request_id = random_id()}; }

std::string reply_bytes(const Reply& reply, const Framing& framing) {
  auto response = start(reply.status, framing);
  const bool has_content = reply.status != 204;  // RFC 9110, section 8.6: no Content-Length either
  if (has_content) response.set(http::field::content_type, "application/json");
  for (const auto& [field, value] : reply.headers) response.set(field, value);
  for (const auto& [name, value] : reply.named_headers) response.set(name, value);
  if (has_content) response.content_length(reply.body.size());
  return text_of(response) + (framing.head_only ? "" : reply.body);
}

std::string stream_header(const Framing& framing, std::string_view content_type) {
  auto response = start(200, framing);
  if (framing.http_1_0) response.keep_alive(false);
  response.set(http::field::content_type,
               boost::beast::string_view(content_type.data(), content_type.size()));
  response.set(http::field::cache_control, "no-cache");
  if (!framing.http_1_0) response.chunked(true);
  return text_of(response);
}

std::string event(std::string_view data) { return "data: " + std::string(data) + "\n\n"; }

std::string stream_part(std::string_view events, const Framing& framing) {
  if (framing.http_1_0) return std::string(events);
  char size[16];
  const auto end = std::to_chars(size, size + sizeof size, events.size(), 16).ptr;
  return std::string(size, end) + "\r\n" + std::string(events) + "\r\n";
}

std::string stream_end(const Framing& framing) { return framing.http_1_0 ? "" : "0\r\n\r\n"; }

}  // namespace forge::serve
