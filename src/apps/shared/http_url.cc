#include "http_url.h"

#include <utility>

#include "forge/core/quoted.h"

namespace forge::apps {

tl::expected<HttpUrl, std::string> parse_url(std::string_view text) {
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  HttpUrl url;
  std::string_view place = text;
  if (!place.starts_with("unix:")) {
    url.has_tls = place.starts_with(kHttps);
    if (!url.has_tls && !place.starts_with(kHttp)) {
      return tl::unexpected(in_quotes(text) +
                            " is no server's address: accepted are http://HOST:PORT[/PATH], "
                            "https://HOST:PORT[/PATH] and unix:SOCKET");
    }
    place.remove_prefix(url.has_tls ? kHttps.size() : kHttp.size());
    const std::size_t slash = place.find('/');
    if (slash != place.npos && slash + 1 < place.size()) url.path = place.substr(slash);
    place = place.substr(0, slash);
  }
  auto address = serve::parse_address(place);
  if (!address) return tl::unexpected(std::move(address.error()));
  url.address = *std::move(address);
  return url;
}

}  // namespace forge::apps
