#include "forge/serve/cors_origins.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "forge/core/quoted.h"

namespace forge::serve {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_scheme(std::string_view text) {
  const auto is_of_it = [](char c) {
    return is_lower(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  };
  return !text.empty() && is_lower(text.front()) && std::ranges::all_of(text, is_of_it);
}

/// A name or an address of IPv4, or one of IPv6 in brackets.
bool is_host(std::string_view text) {
  const bool has_brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
  if (has_brackets) text = text.substr(1, text.size() - 2);
  const auto is_of_it = [has_brackets](char c) {
    if (has_brackets) return is_digit(c) || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
    return is_lower(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
  };
  return !text.empty() && std::ranges::all_of(text, is_of_it);
}

/// 1 to 65535 without leading zeros, which is how browsers write it.
bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && parsed_to == end && port > 0 && text.front() != '0';
}

/// Empty, if it is an origin.
std::string_view fault_in(std::string_view text) {
  const std::size_t slashes = text.find("://");
  if (slashes == std::string_view::npos) return "there is no '://'";
  const std::string_view scheme = text.substr(0, slashes);
  if (!is_scheme(scheme)) return "the scheme is not of lower-case letters";
  const std::string_view authority = text.substr(slashes + 3);
  if (authority.find_first_of("/?#") != std::string_view::npos) return "it has a path";
  const std::size_t colon = authority.find(':', authority.find(']') + 1);
  if (!is_host(authority.substr(0, colon))) {
    return "the host is not of lower-case letters, digits, '.' and '-'";
  }
  if (colon == std::string_view::npos) return "";
  const std::string_view port = authority.substr(colon + 1);
  if (!is_port(port)) return "the port is not 1 to 65535";
  const bool is_default =
      (scheme == "http" && port == "80") || (scheme == "https" && port == "443");
  return is_default ? "browsers leave this port out" : "";
}

}  // namespace

tl::expected<void, std::string> CorsOrigins::add(std::string_view text) {
  if (text == "*") {
    any_ = true;
    return {};
  }
  if (const std::string_view fault = fault_in(text); !fault.empty()) {
    return tl::unexpected(in_quotes(text) + " is not an origin: " + std::string(fault) +
                          "; accepted are SCHEME://HOST, SCHEME://HOST:PORT and *");
  }
  origins_.emplace_back(text);
  return {};
}

std::string CorsOrigins::answer_to(std::string_view origin) const {
  if (origin.empty()) return "";
  if (any_) return "*";
  const auto found = std::ranges::find(origins_, origin);
  return found != origins_.end() ? *found : "";
}

}  // namespace forge::serve
