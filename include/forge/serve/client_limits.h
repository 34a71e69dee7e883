// ClientLimits: what a client may have of a server at a time and in a minute.
//
//   weight             of the machine, when clients want more than it has (core/request.h)
//   priority_max       the highest that its requests may ask for; above it: 403
//   concurrent         requests that run or wait; each prompt and each choice is one
//   waiting            of these, those that wait for their first place in the batch
//   tokens_per_minute  of prompts and answers
//
// Beyond the last three: 429. A client is a key, or without keys an address
// (src/serve/ownership.h). The line of a key (api_keys.h) may say what is its own; all else is as
// the server has it for everybody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/core/range.h"
#include "forge/core/request.h"

namespace forge::serve {

struct ClientLimits {
  std::uint32_t weight = 1;
  Priority priority_max = Priority::high;
  std::uint32_t concurrent = 0;         ///< 0: no limit
  std::uint32_t waiting = 0;            ///< 0: no limit
  std::uint32_t tokens_per_minute = 0;  ///< 0: no limit

  static constexpr IntegerRange kRequests{0, 1'000'000};
  static constexpr IntegerRange kTokensPerMinute{0, 1'000'000'000};

  friend bool operator==(const ClientLimits&, const ClientLimits&) = default;
};

/// What the line of a key says: nothing of what is to be as for everybody.
struct ClientSettings {
  std::optional<std::uint32_t> weight;
  std::optional<Priority> priority_max;
  std::optional<std::uint32_t> concurrent;
  std::optional<std::uint32_t> waiting;
  std::optional<std::uint32_t> tokens_per_minute;

  ClientLimits over(const ClientLimits& defaults) const;

  friend bool operator==(const ClientSettings&, const ClientSettings&) = default;
};

/// "weight=4,priority=high,concurrent=8,waiting=32,tokens-per-minute=60000", any of them, in any
/// order. Errors: a sentence that names the setting, its value and what is accepted.
tl::expected<ClientSettings, std::string> parse_client_settings(std::string_view text);

}  // namespace forge::serve
