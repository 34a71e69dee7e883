// RequestStream: requests without end, for measuring schedulers in steady state.
//
// A prompt is a beginning that all have in common, one of its own, and so many new tokens that
// ends come evenly: the first requests are cut short, each by another amount.
#pragma once

#include <cstdint>

#include "forge/core/request.h"

namespace forge::bench {

struct Traffic {
  std::uint32_t common_tokens = 64;
  std::uint32_t own_tokens = 64;
  std::uint32_t new_tokens = 128;
  bool mixed_priorities = false;
};

class RequestStream {
 public:
  explicit RequestStream(const Traffic& traffic) : traffic_(traffic) {
    request_.prompt.assign(traffic.common_tokens + traffic.own_tokens, TokenId(1));
  }

  /// Valid until the next call. Of the first `early`, number i has fewer new tokens.
  const Request& next(std::uint64_t early) {
    const std::uint64_t own = traffic_.common_tokens;
    request_.prompt[own] = TokenId(static_cast<std::uint32_t>(count_ % 0x10000));
    request_.prompt[own + 1] = TokenId(static_cast<std::uint32_t>(count_ / 0x10000));
    request_.max_new_tokens = traffic_.new_tokens;
    if (count_ < early) {
      request_.max_new_tokens -= static_cast<std::uint32_t>(count_ % traffic_.new_tokens);
    }
    if (traffic_.mixed_priorities) request_.priority = static_cast<Priority>(count_ % 3);
    ++count_;
    return request_;
  }

 private:
  Traffic traffic_;
  Request request_;
  std::uint64_t count_ = 0;
};

}  // namespace forge::bench
