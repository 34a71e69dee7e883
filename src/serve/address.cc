#include "forge/serve/address.h"

#include <sys/un.h>

#include <charconv>

namespace forge::serve {
namespace {

tl::unexpected<std::string> malformed(std::string_view text, std::string_view fault) {
  return tl::unexpected("address '" + std::string(text) + "': " + std::string(fault) +
                        "; accepted are HOST:PORT and [IPV6]:PORT, PORT from 0 (any free one) to "
                        "65535, and unix:PATH");
}

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1;  // a zero ends it

tl::expected<Address, std::string> parse_path(std::string_view text) {
  const std::string_view path = text.substr(kUnix.size());
  if (path.find('/') == std::string_view::npos) {
    return malformed(text, "a PATH has a '/': /run/forge.sock, ./forge.sock");
  }
  if (path.size() > kPathMax) {
    return malformed(text, "the PATH has " + std::to_string(path.size()) +
                               " bytes; the system takes 1 to " + std::to_string(kPathMax));
  }
  return Address{.path = std::string(path)};
}

}  // namespace

tl::expected<Address, std::string> parse_address(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_path(text);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return malformed(text, "no ':PORT'");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of("[]:") != std::string_view::npos) {
    return malformed(text, "an IPv6 address stands in brackets");
  }
  if (host.empty()) return malformed(text, "no host");

  Address address{.host = std::string(host)};
  const char* const end = port.data() + port.size();
  const auto [parsed_to, error] = std::from_chars(port.data(), end, address.port);
  if (error != std::errc() || parsed_to != end) {
    return malformed(text, "'" + std::string(port) + "' is not a port");
  }
  return address;
}

std::string to_string(const Address& address) {
  if (address.is_unix()) return std::string(kUnix) + address.path;
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace forge::serve
