// --probe URL: asks a server how it is, as the health check of a container does, which need not
// have curl for it.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "forge/serve/address.h"

namespace forge::apps {

/// What a probe asks.
struct ProbeTarget {
  serve::Address address;
  bool has_tls = false;
  std::string path = "/health/ready";
};

/// Of "http://HOST:PORT[/PATH]", the same with https, or "unix:SOCKET". Errors: a sentence that
/// names the text, its fault and what is accepted.
tl::expected<ProbeTarget, std::string> parse_probe(const std::string& url);

/// Prints the answer's body, or to stderr why there is none within 5 seconds. Whose certificate it
/// is does not matter. Returns the exit status: 0 for an answer of 200 to 299, else 1.
int probe(const ProbeTarget& target);

}  // namespace forge::apps
