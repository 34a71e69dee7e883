// What must hold of the request parsers for any bytes; shared by the mutation test and the
// fuzz target.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "executor/byte_grammars.h"
#include "forge/core/check.h"
#include "forge/serve/openai_api.h"
#include "forge/text/byte_tokenizer.h"

namespace forge::test {

inline void check_error(const serve::ApiError& error) {
  FORGE_CHECK(error.status == 400 || error.status == 404, "status ", error.status);
  FORGE_CHECK(!error.message.empty());
  FORGE_CHECK(nlohmann::json::accept(to_json(error)));
}

/// Returns: may it run?
inline bool check_tokenized(const serve::UntokenizedRequest& parsed, const serve::ModelCard& model,
                            const text::Tokenizer& tokenizer) {
  const auto too_long = length_error(parsed, model, tokenizer);
  const auto request = tokenize(parsed, model, tokenizer, {});
  if (too_long) check_error(*too_long);
  if (!request) check_error(request.error());
  FORGE_CHECK(!too_long || !request, "what has tokens that fit is said to be too long");
  if (!request) return false;
  FORGE_CHECK(request->prompts.size() == parsed.prompts.size());
  for (const auto& prompt : request->prompts) {
    FORGE_CHECK(!prompt.empty());
    FORGE_CHECK(prompt.size() + request->max_tokens <= model.context_tokens);
    for (const TokenId token : prompt) FORGE_CHECK(token.value < model.vocabulary_size);
  }
  return true;
}

/// Returns: may it run?
inline bool check_parsed(const tl::expected<serve::UntokenizedRequest, serve::ApiError>& parsed,
                         const serve::ModelCard& model) {
  if (!parsed) {
    check_error(parsed.error());
    return false;
  }
  FORGE_CHECK(!parsed->prompts.empty());
  FORGE_CHECK(parsed->max_tokens >= 1 || parsed->echo);
  FORGE_CHECK(parsed->sampling.temperature >= 0 && parsed->sampling.temperature <= 2);
  FORGE_CHECK(parsed->stop.size() <= 16);
  for (const auto& stop : parsed->stop) FORGE_CHECK(!stop.empty());
  FORGE_CHECK(parsed->stream || !parsed->include_usage);
  FORGE_CHECK(!parsed->sampling.grammar || (!parsed->grammar_field.empty() && !parsed->ignore_eos &&
                                            !parsed->sampling.grammar->forms.empty()));
  FORGE_CHECK(parsed->priority <= Priority::high);
  FORGE_CHECK(parsed->prefix_cache <= PrefixCacheUse::disable);
  FORGE_CHECK(!parsed->session ||
              (parsed->session->value <= serve::kSessionIdMax && parsed->prompts.size() == 1 &&
               parsed->prefix_cache != PrefixCacheUse::disable));
  FORGE_CHECK(!parsed->time_limit || parsed->time_limit->count() > 0);
  return check_tokenized(*parsed, model, text::ByteTokenizer());
}

/// Aborts if a parser breaks its promises. Returns: how many of those that generate took
/// `body`.
inline unsigned check_request_parsers(std::string_view body) {
  static const serve::ModelCard kModel{.id = "m",
                                       .vocabulary_size = 320,
                                       .context_tokens = 100,
                                       .created = 1,
                                       .grammars = testing::byte_grammars()};
  for (const auto kind : {serve::RequestKind::tokenize, serve::RequestKind::detokenize}) {
    const auto parsed = parse_request(kind, body, kModel);
    if (!parsed) check_error(parsed.error());
    FORGE_CHECK(!parsed || parsed->prompts.size() == 1);
  }
  unsigned taken = 0;
  for (const auto kind : {serve::RequestKind::completions, serve::RequestKind::generate,
                          serve::RequestKind::chat, serve::RequestKind::forge_generate}) {
    if (check_parsed(parse_request(kind, body, kModel), kModel)) ++taken;
  }
  return taken;
}

}  // namespace forge::test
