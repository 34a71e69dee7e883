// Request: what a caller asks for, as the policy core and the targets see it.
//
// The core and the targets see tokens alone; text is handled above them. A request carries all that
// its output depends on: the same request yields the same tokens and logits, whatever else is
// running (property_tests/schedule_independence.cc checks it).
#pragma once

#include <cstdint>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/names.h"
#include "forge/core/range.h"
#include "forge/core/sampling_params.h"

namespace forge {

/// Which requests go first when several wait (policy.h) and which give way when memory runs out.
enum class Priority : std::uint8_t { low, normal, high };
constexpr Names<Priority> names_of(Priority) { return {"low", "normal", "high"}; }

/// What a request has to do with the KV that other requests left behind.
enum class PrefixCacheUse : std::uint8_t {
  automatic,  ///< reads the prefix cache and leaves its own KV there, if the scheduler has one
  disable,    ///< neither reads nor leaves anything
};
constexpr Names<PrefixCacheUse> names_of(PrefixCacheUse) { return {"auto", "disable"}; }

struct Request {
  std::vector<TokenId> prompt;        ///< at least one token
  std::uint32_t max_new_tokens = 32;  ///< at least 1
  SamplingParams sampling;
  /// Generation goes on through the end-of-sequence token until max_new_tokens (benchmarks).
  bool ignore_eos = false;
  Priority priority = Priority::normal;
  /// Whose it is: when requests wait, clients take turns, and within a client its users do, so that
  /// each has its share of the tokens that run (fair_shares.h).
  ClientId client;
  UserId user;
  /// Of the client's share: one of weight 3 has three times that of one of weight 1.
  std::uint32_t weight = 1;
  static constexpr IntegerRange kWeight{1, 1000};
  PrefixCacheUse prefix_cache = PrefixCacheUse::automatic;
  /// The request finds no KV of requests with another salt, nor do they find its own: how long it
  /// takes tells nothing of what they asked (prefix_index.h).
  CacheSalt cache_salt;
  /// The number of steps in which the request may take part, from its submission on; 0 is no limit.
  /// After them it ends with FinishReason::deadline. A limit in seconds is the engine's business:
  /// it cancels.
  std::uint64_t deadline_steps = 0;
  /// When the request has finished, its KV stays for the next one of the session
  /// (session_table.h). Needs a prefix cache.
  std::optional<SessionId> session;

  friend bool operator==(const Request&, const Request&) = default;
};

/// Errors: the first field, of the request itself or of `sampling`, that is out of its range
/// whatever the scheduler.
tl::expected<void, ConfigError> validate_fields(const Request& request);

}  // namespace forge
