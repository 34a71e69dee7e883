#include "header_rules.h"

#include <string>

#include "forge/core/quoted.h"

namespace forge::serve {
namespace {

Reply refuse(const std::string& message) { return reply_of(request_error(400, message)); }

std::optional<Reply> refuse_transfer_encoding(const HttpHeader& header) {
  const auto [first, last] = header.equal_range(http::field::transfer_encoding);
  if (first == last) return std::nullopt;
  if (header.version() < 11) return refuse("Transfer-Encoding does not exist in HTTP/1.0");
  if (header.count(http::field::content_length) > 0) {
    return refuse("Transfer-Encoding and Content-Length exclude each other");
  }
  const std::string_view value = view(first->value());
  if (std::next(first) == last && iequals(value, "chunked")) return std::nullopt;
  return refuse("Transfer-Encoding is " + in_quotes(value) +
                (std::next(first) == last ? "" : ", and given more than once") +
                "; the only one that is read is 'chunked', alone");
}

}  // namespace

std::optional<Reply> refuse_ambiguity(const HttpHeader& header) {
  if (auto refused = refuse_transfer_encoding(header)) return refused;
  const auto hosts = header.count(http::field::host);
  if (header.version() < 11 ? hosts <= 1 : hosts == 1) return std::nullopt;
  return refuse("the header has " + std::to_string(hosts) +
                " Host fields; HTTP/1.1 demands exactly one");
}

}  // namespace forge::serve
