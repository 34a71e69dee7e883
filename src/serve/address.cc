#include "forge/serve/address.h"

#include <charconv>

namespace forge::serve {
namespace {

tl::unexpected<std::string> malformed(std::string_view text, std::string_view fault) {
  return tl::unexpected("address '" + std::string(text) + "': " + std::string(fault) +
                        "; accepted are HOST:PORT and [IPV6]:PORT, PORT from 0 (any free one) to "
                        "65535");
}

}  // namespace

tl::expected<Address, std::string> parse_address(std::string_view text) {
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
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace forge::serve
