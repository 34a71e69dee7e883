#include "access.h"

#include <boost/asio/ip/address.hpp>

#include "forge/core/quoted.h"

namespace forge::serve {
namespace {

/// Of "Authorization: Bearer KEY". Source: RFC 6750, section 2.1.
std::optional<std::string_view> key_of(const HttpHeader& header) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto [first, last] = header.equal_range(http::field::authorization);
  if (first == last || std::next(first) != last) return std::nullopt;
  std::string_view value = view(first->value());
  if (!iequals(value.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  value.remove_prefix(kScheme.size());
  while (value.starts_with(' ')) value.remove_prefix(1);
  return value;
}

Reply refuse_stranger(bool has_key) {
  ApiError error = request_error(
      401,
      has_key ? "this key is not known here" : "a key is needed: send Authorization: Bearer KEY",
      "invalid_api_key");
  error.type = "authentication_error";
  Reply reply = reply_of(error);
  reply.headers.emplace_back(http::field::www_authenticate, "Bearer");
  return reply;
}

Reply refuse_operation(const std::string& message) {
  ApiError error = request_error(403, message, "operators_only");
  error.type = "permission_error";
  return reply_of(error);
}

/// "localhost:8080" and "[::1]:8080" are; a name that leads here is not.
bool is_this_machine(std::string_view authority) {
  std::string_view host = authority;
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  if (iequals(host, "localhost")) return true;
  boost::system::error_code error;
  const auto address = asio::ip::make_address(std::string(host), error);
  return !error && address.is_loopback();
}

/// Without one, no page of a browser asks, or this server's own does.
bool is_foreign(std::string_view origin, std::string_view host) {
  if (origin.empty()) return false;
  const std::size_t slashes = origin.find("://");
  return slashes == std::string_view::npos || origin.substr(slashes + 3) != host;
}

Reply refuse_page(const std::string& message) {
  ApiError error = request_error(403, message, "origin_not_allowed");
  error.type = "permission_error";
  return reply_of(error);
}

std::optional<Reply> refuse_remote_operator(const HttpHeader& header, Arrival arrival) {
  const std::string_view host = view(header[http::field::host]);
  const std::string_view origin = view(header[http::field::origin]);
  const std::string rule =
      "this is for operators, and without --api-key-file only for those who ask from this machine";
  const bool is_forwarded = header.count("Forwarded") > 0 || header.count("X-Forwarded-For") > 0;
  if (arrival == Arrival::network || is_forwarded) return refuse_operation(rule);
  if (arrival != Arrival::unix_socket && !is_this_machine(host)) {
    return refuse_operation(rule + ", as localhost or 127.0.0.1: Host is " + in_quotes(host));
  }
  if (is_foreign(origin, host)) {
    return refuse_operation(rule + ", not through a page from " + in_quotes(origin));
  }
  return std::nullopt;
}

std::optional<Reply> refuse_foreign_upgrade(const HttpHeader& header, bool has_keys,
                                            Arrival arrival) {
  const std::string_view host = view(header[http::field::host]);
  const std::string_view origin = view(header[http::field::origin]);
  if (is_foreign(origin, host)) {
    return refuse_page("a page from " + in_quotes(origin) +
                       " may not open a WebSocket here, unless --cors-origin names it");
  }
  if (!has_keys && arrival == Arrival::loopback && !is_this_machine(host)) {
    return refuse_page(
        "without --api-key-file a WebSocket from this machine is for localhost or "
        "127.0.0.1: Host is " +
        in_quotes(host));
  }
  return std::nullopt;
}

}  // namespace

tl::expected<Asker, Reply> admit(const HttpHeader& header, Audience audience, const ApiKeys* keys,
                                 Arrival arrival) {
  if (audience == Audience::everyone) return Asker();
  if (keys == nullptr) {
    if (audience == Audience::clients) return Asker();
    if (auto refused = refuse_remote_operator(header, arrival)) {
      return tl::unexpected(*std::move(refused));
    }
    return Asker();
  }
  const auto text = key_of(header);
  const ApiKey* const key = text ? keys->find(*text) : nullptr;
  if (key == nullptr) return tl::unexpected(refuse_stranger(text.has_value()));
  if (audience == Audience::operators && key->kind != KeyClass::oper) {
    return tl::unexpected(
        refuse_operation("this is for operators; the key '" + key->name + "' is a client's"));
  }
  return Asker{*key};
}

tl::expected<Asker, Reply> admit_upgrade(const HttpHeader& header, const CorsOrigins& allowed,
                                         const ApiKeys* keys, Arrival arrival) {
  const std::string_view origin = view(header[http::field::origin]);
  if (allowed.answer_to(origin).empty()) {
    if (auto refused = refuse_foreign_upgrade(header, keys != nullptr, arrival)) {
      return tl::unexpected(*std::move(refused));
    }
  }
  const bool key_follows = keys != nullptr && header.count(http::field::authorization) == 0;
  return key_follows ? Asker() : admit(header, Audience::clients, keys, arrival);
}

}  // namespace forge::serve
