// Address: where a server listens, as people write it: "127.0.0.1:8080", "localhost:0",
// "[::1]:8080", "unix:/run/forge/http.sock" (a Unix socket, which only programs of this machine can
// reach, those that the file's owner and group allow).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace forge::serve {

struct Address {
  std::string host;        ///< a name, or an IP address without brackets
  std::uint16_t port = 0;  ///< 0: the system picks a free one
  std::string path = {};   ///< of a Unix socket, which has neither host nor port; else empty

  bool is_unix() const { return !path.empty(); }

  friend bool operator==(const Address&, const Address&) = default;
};

/// Errors: a sentence that names the text, its fault and what is accepted.
tl::expected<Address, std::string> parse_address(std::string_view text);

/// "HOST:PORT", with brackets around an IPv6 address; "unix:PATH".
std::string to_string(const Address& address);

}  // namespace forge::serve
