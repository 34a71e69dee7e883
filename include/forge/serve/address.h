// Address: where a server listens, as people write it: "127.0.0.1:8080", "localhost:0",
// "[::1]:8080".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace forge::serve {

struct Address {
  std::string host;        ///< a name, or an IP address without brackets
  std::uint16_t port = 0;  ///< 0: the system picks a free one

  friend bool operator==(const Address&, const Address&) = default;
};

/// Errors: a sentence that names the text, its fault and what is accepted.
tl::expected<Address, std::string> parse_address(std::string_view text);

/// "HOST:PORT", with brackets around an IPv6 address.
std::string to_string(const Address& address);

}  // namespace forge::serve
