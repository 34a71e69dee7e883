// HttpUrl: where an HTTP server is, as the programs that ask one are told.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/serve/address.h"

namespace forge::apps {

struct HttpUrl {
  serve::Address address;
  bool has_tls = false;
  std::string path = {};  ///< empty: the text has none, or "/"

  /// What a request's Host says.
  std::string host() const { return address.is_unix() ? "localhost" : to_string(address); }

  friend bool operator==(const HttpUrl&, const HttpUrl&) = default;
};

/// Of "http://HOST:PORT[/PATH]", the same with https, or "unix:SOCKET". Errors: a sentence that
/// names the text, its fault and what is accepted.
tl::expected<HttpUrl, std::string> parse_url(std::string_view text);

}  // namespace forge::apps
