#include "tokenizer_api.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "forge/chat/chat_format.h"
#include "forge/text/utf8_stream.h"
#include "prompt_text.h"

namespace forge::serve {
namespace {

using Json = nlohmann::ordered_json;
using Tokens = std::vector<TokenId>;

Json ids_json(const Tokens& tokens) {
  Json ids = Json::array();
  for (const TokenId token : tokens) ids.push_back(token.value);
  return ids;
}

/// A text, or the bytes that are none.
Json piece_json(std::string_view bytes) {
  if (text::to_valid_utf8(bytes) == bytes) return bytes;
  Json list = Json::array();
  for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
  return list;
}

Json pieces_json(const Tokens& tokens, const text::Tokenizer& tokenizer) {
  Json pieces = Json::array();
  for (const TokenId token : tokens) {
    pieces.push_back(
        {{"id", token.value}, {"piece", piece_json(tokenizer.spelt_out({&token, 1}))}});
  }
  return pieces;
}

Json spellings_json(const Tokens& tokens, const text::Tokenizer& tokenizer) {
  Json spellings = Json::array();
  for (const TokenId token : tokens) {
    spellings.push_back(text::to_valid_utf8(tokenizer.spelling_of(token)));
  }
  return spellings;
}

std::string detokenized(const Tokens& tokens, const text::Tokenizer& tokenizer) {
  const std::string text = text::to_valid_utf8(tokenizer.spelt_out(tokens));
  return Json{{"prompt", text}, {"content", text}}.dump();
}

Json spelling_json(std::optional<TokenId> token, const text::Tokenizer& tokenizer) {
  if (!token || tokenizer.spelling_of(*token).empty()) return nullptr;
  return text::to_valid_utf8(tokenizer.spelling_of(*token));
}

}  // namespace

tl::expected<std::string, ApiError> tokenizer_answer(UntokenizedRequest request,
                                                     const ModelCard& model,
                                                     const text::Tokenizer& tokenizer,
                                                     const std::tm& now) {
  UntokenizedPrompt& prompt = request.prompts.front();
  if (request.kind == RequestKind::detokenize) {
    return detokenized(std::get<Tokens>(prompt.content), tokenizer);
  }
  if (auto error = render(prompt, model, now)) return tl::unexpected(*std::move(error));
  const auto tokens = encode(prompt, request.encode_options, tokenizer);
  if (!tokens) return tl::unexpected(tokens.error());
  Json listed = request.with_pieces ? pieces_json(*tokens, tokenizer) : ids_json(*tokens);
  if (prompt.name == "content") {
    Json answer = {{"tokens", std::move(listed)}};
    if (request.token_strs) answer["token_strs"] = spellings_json(*tokens, tokenizer);
    return answer.dump();
  }
  Json answer = {{"count", tokens->size()},
                 {"max_model_len", model.context_tokens},
                 {"tokens", std::move(listed)},
                 {"token_strs", nullptr}};
  if (request.token_strs) answer["token_strs"] = spellings_json(*tokens, tokenizer);
  return answer.dump();
}

std::string tokenizer_info(const ModelCard& model, const text::Tokenizer& tokenizer) {
  const auto eos = tokenizer.eos_tokens();
  Json info = {{"tokenizer_class", "Forge"},
               {"bos_token", spelling_json(tokenizer.bos_token(), tokenizer)},
               {"eos_token",
                spelling_json(eos.empty() ? std::nullopt : std::optional(eos.front()), tokenizer)},
               {"pad_token", spelling_json(tokenizer.pad_token(), tokenizer)},
               {"vocab_size", tokenizer.vocabulary_size()},
               {"model_max_length", model.context_tokens},
               {"chat_template", nullptr}};
  if (model.chat)
    info["chat_template"] = text::to_valid_utf8((*model.chat)->chat_template.source());
  return info.dump();
}

std::string model_props(const ModelCard& model, const text::Tokenizer& tokenizer,
                        std::uint32_t places) {
  const auto eos = tokenizer.eos_tokens();
  const auto spelling = [&tokenizer](std::optional<TokenId> token) {
    return token ? text::to_valid_utf8(tokenizer.spelling_of(*token)) : std::string();
  };
  const Json props = {
      {"default_generation_settings", {{"n_ctx", model.context_tokens}}},
      {"total_slots", places},
      {"model_alias", model.id},
      {"model_path", model.id},
      {"modalities", {{"vision", false}, {"audio", false}}},
      {"chat_template",
       model.chat ? text::to_valid_utf8((*model.chat)->chat_template.source()) : std::string()},
      {"bos_token", spelling(tokenizer.bos_token())},
      {"eos_token", spelling(eos.empty() ? std::nullopt : std::optional(eos.front()))},
      {"build_info", "forge " FORGE_VERSION}};
  return props.dump();
}

std::string rendered_json(const CompletionRequest& request, const ModelCard& model,
                          const std::string& id) {
  Json rendered = Json::array();
  for (const Tokens& prompt : request.prompts) {
    rendered.push_back({{"request_id", id},
                        {"model", model.id},
                        {"token_ids", ids_json(prompt)},
                        {"max_tokens", request.max_tokens}});
  }
  return request.kind == RequestKind::chat ? rendered.front().dump() : rendered.dump();
}

}  // namespace forge::serve
