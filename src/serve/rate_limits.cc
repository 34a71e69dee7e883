#include "rate_limits.h"

#include <algorithm>

namespace forge::serve {
namespace {

using Demand = ClientTable::Demand;
using Refusal = ClientTable::Refusal;

std::uint64_t whole_seconds(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(time).count());
}

/// "tokens in a minute are limited to 600 for this client"
std::string limit_text(const Refusal& refusal) {
  const auto what = [&refusal]() -> std::string {
    switch (refusal.kind) {
      case LimitKind::concurrent:
        return "requests that run or wait at a time";
      case LimitKind::waiting:
        return "requests that wait at a time";
      case LimitKind::tokens:
        break;
    }
    return "tokens in a minute";
  };
  return what() + " are limited to " + std::to_string(refusal.limit) + " for this client";
}

ApiError never(const Refusal& refusal) {
  const bool of_tokens = refusal.kind == LimitKind::tokens;
  return bad_field(
      of_tokens ? "max_tokens" : "prompt",
      (of_tokens ? "prompts and max_tokens come to " : "prompts and choices come to ") +
          std::to_string(refusal.asked) + "; " + limit_text(refusal),
      "request_too_large");
}

}  // namespace

Demand demand_of(const UntokenizedRequest& request) {
  const std::uint64_t choices = request.prompts.size() * request.best_of;
  Demand demand{.requests = static_cast<std::uint32_t>(choices),
                .tokens = choices * (request.until_context_ends ? 1 : request.max_tokens)};
  for (const UntokenizedPrompt& prompt : request.prompts) {
    const auto* const ids = std::get_if<std::vector<TokenId>>(&prompt.content);
    demand.tokens += ids != nullptr ? ids->size() : 1;
  }
  return demand;
}

Demand demand_of(const CompletionRequest& request) {
  Demand demand{.requests = static_cast<std::uint32_t>(request.choices()),
                .tokens = std::uint64_t{request.choices()} * request.max_tokens};
  for (const auto& prompt : request.prompts) demand.tokens += prompt.size();
  return demand;
}

void fit_to_minute(CompletionRequest& request, const ClientLimits& limits) {
  std::uint64_t left = limits.tokens_per_minute;
  if (left == 0) return;
  for (const auto& prompt : request.prompts) left -= std::min<std::uint64_t>(left, prompt.size());
  const std::uint64_t most = std::max<std::uint64_t>(left / request.choices(), 1);
  request.max_tokens =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(request.max_tokens, most));
}

std::optional<Reply> settle_priority(UntokenizedRequest& request, const ClientLimits& limits) {
  const Priority asked = request.priority.value_or(std::min(Priority::normal, limits.priority_max));
  request.priority = asked;
  if (asked <= limits.priority_max) return std::nullopt;
  std::string accepted;
  for (const std::string_view name : kNames<Priority>) {
    if (*from_name<Priority>(name) > limits.priority_max) break;
    accepted += (accepted.empty() ? "'" : ", '") + std::string(name) + "'";
  }
  ApiError error = bad_field(
      "priority",
      "priority is '" + std::string(name_of(asked)) + "'; accepted from this client is " + accepted,
      "priority_not_allowed");
  error.status = 403;
  error.type = "permission_error";
  return reply_of(error);
}

Reply reply_of(const Refusal& refusal) {
  if (refusal.is_for_ever()) return reply_of(never(refusal));
  const std::uint64_t seconds = std::max<std::uint64_t>(whole_seconds(refusal.wait), 1);
  ApiError error =
      request_error(429,
                    limit_text(refusal) + ": " + std::to_string(refusal.left) + " are left, " +
                        std::to_string(refusal.asked) + " are asked for; try again in " +
                        std::to_string(seconds) + " s",
                    "rate_limit_exceeded");
  error.type = "rate_limit_error";
  Reply reply = reply_of(error);
  reply.headers.emplace_back(http::field::retry_after, std::to_string(seconds));
  return reply;
}

LimitHeaders headers_of(const ClientTable::Standing& standing) {
  LimitHeaders headers;
  const auto add = [&headers](const std::string& of, const ClientTable::Share& share) {
    headers.emplace_back("x-ratelimit-limit-" + of, std::to_string(share.limit));
    headers.emplace_back("x-ratelimit-remaining-" + of, std::to_string(share.left));
    headers.emplace_back("x-ratelimit-reset-" + of, duration_text(share.reset));
  };
  if (standing.requests) add("requests", *standing.requests);
  if (standing.tokens) add("tokens", *standing.tokens);
  return headers;
}

std::string duration_text(std::chrono::milliseconds time) {
  if (time.count() > 0 && time < std::chrono::seconds(1)) {
    return std::to_string(time.count()) + "ms";
  }
  const std::uint64_t seconds = whole_seconds(time);
  const std::string rest = std::to_string(seconds % 60) + "s";
  return seconds < 60 ? rest : std::to_string(seconds / 60) + "m" + rest;
}

}  // namespace forge::serve
