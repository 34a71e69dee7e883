// What must hold of the request parsers for any bytes; shared by the mutation test and the
// fuzz target.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "forge/core/check.h"
#include "forge/serve/openai_api.h"
#include "forge/text/byte_tokeniser.h"

namespace forge::test {

inline void check_parsed(const tl::expected<CompletionRequest, ApiError>& parsed,
                         const ModelCard& model) {
  if (!parsed) {
    const ApiError& error = parsed.error();
    FORGE_CHECK(error.status == 400 || error.status == 404, "status ", error.status);
    FORGE_CHECK(!error.message.empty());
    FORGE_CHECK(nlohmann::json::accept(to_json(error)));
    return;
  }
  FORGE_CHECK(!parsed->prompts.empty());
  for (const auto& prompt : parsed->prompts) {
    FORGE_CHECK(!prompt.empty());
    FORGE_CHECK(prompt.size() + parsed->max_tokens <= model.context_tokens);
    for (const TokenId token : prompt) FORGE_CHECK(token.value < model.vocabulary_size);
  }
  FORGE_CHECK(parsed->max_tokens >= 1);
  FORGE_CHECK(parsed->sampling.temperature >= 0 && parsed->sampling.temperature <= 2);
  FORGE_CHECK(parsed->stop.size() <= 4);
  for (const auto& stop : parsed->stop) FORGE_CHECK(!stop.empty());
  FORGE_CHECK(parsed->stream || !parsed->include_usage);
  FORGE_CHECK(parsed->priority <= Priority::high);
  FORGE_CHECK(parsed->prefix_cache <= PrefixCacheUse::disable);
  FORGE_CHECK(!parsed->session ||
              (parsed->session->value <= kSessionIdMax && parsed->prompts.size() == 1 &&
               parsed->prefix_cache != PrefixCacheUse::disable));
  FORGE_CHECK(!parsed->time_limit || parsed->time_limit->count() > 0);
}

/// Aborts if a parser breaks its promises. Returns: how many of the two took `body`.
inline unsigned check_request_parsers(std::string_view body) {
  const ModelCard model{.id = "m", .vocabulary_size = 320, .context_tokens = 100, .created = 1};
  const ByteTokeniser tokeniser;
  const auto completion = parse_completion_request(body, model, tokeniser);
  const auto generate = parse_generate_request(body, model, tokeniser);
  check_parsed(completion, model);
  check_parsed(generate, model);
  return (completion ? 1U : 0U) + (generate ? 1U : 0U);
}

}  // namespace forge::test
