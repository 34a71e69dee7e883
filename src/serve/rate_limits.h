// What a request needs of its client's limits (client_table.h), and what answers say of them.
//
//   HTTP 429
//   Retry-After: 12
//   x-ratelimit-limit-requests: 8
//   x-ratelimit-remaining-requests: 5
//   x-ratelimit-reset-requests: 1s
//   x-ratelimit-limit-tokens: 60000
//   x-ratelimit-remaining-tokens: 48210
//   x-ratelimit-reset-tokens: 12s
//   {"error": {"type": "rate_limit_error", "code": "rate_limit_exceeded", ...}}
//
// Requests are those that run or wait at a time; nobody knows when one ends, so their reset is a
// second away as long as there is one. Tokens are a minute's, and all of them are there again when
// theirs is over.
//
// These headers are on each answer of a route that generates, as far as the client has such a
// limit. What would exceed a limit even if nothing else of the client ran is 400: clients come
// again by themselves after a 429.
//
// Source: OpenAI API, "Rate limits in headers"; there requests are counted by the minute.
// Thread contract: pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client_table.h"
#include "forge/serve/openai_api.h"
#include "reply.h"

namespace forge::serve {

/// What it surely needs: of a text that is to become tokens one, of an answer that is to go on to
/// the end of the context one.
ClientTable::Demand demand_of(const UntokenizedRequest& request);
/// What it needs at most.
ClientTable::Demand demand_of(const CompletionRequest& request);

/// An answer that may go on to the end of the context may have what a minute has beside the prompt,
/// so that it is not refused for what it will hardly need.
void fit_to_minute(CompletionRequest& request, const ClientLimits& limits);

/// 403 for a priority above what the client may ask for; otherwise the request has one.
std::optional<Reply> settle_priority(UntokenizedRequest& request, const ClientLimits& limits);

Reply reply_of(const ClientTable::Refusal& refusal);

using LimitHeaders = std::vector<std::pair<std::string, std::string>>;
LimitHeaders headers_of(const ClientTable::Standing& standing);

/// Names of all of them, as CORS lists them.
inline constexpr std::string_view kLimitHeaderNames =
    "x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, "
    "x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens";

/// "0s", "250ms", "7s", "6m0s": milliseconds below a second, else whole seconds, rounded up.
std::string duration_text(std::chrono::milliseconds time);

}  // namespace forge::serve
