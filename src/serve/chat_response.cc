// Choices of POST /v1/chat/completions.
#include "response_json.h"

namespace forge::serve {
namespace {

using Json = ResponseJson;

Json token_json(std::string_view bytes, float logprob) {
  Json values = Json::array();
  for (const char byte : bytes) values.push_back(static_cast<unsigned char>(byte));
  return {{"token", token_text(bytes)}, {"logprob", logprob}, {"bytes", std::move(values)}};
}

/// null where no log-probabilities were asked for.
Json logprobs_json(std::span<const ToldText> told) {
  Json content = Json::array();
  for (const ToldText& token : told) {
    if (!token.logprob) continue;
    Json entry = token_json(token.bytes, *token.logprob);
    entry["top_logprobs"] = Json::array();
    for (const auto& [bytes, logprob] : token.likely) {
      entry["top_logprobs"].push_back(token_json(bytes, logprob));
    }
    content.push_back(std::move(entry));
  }
  if (content.empty()) return nullptr;
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

}  // namespace

Json chat_choice(std::size_t index, const Choice& choice) {
  Json message = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
  return {
      {"index", index}, {"message", std::move(message)}, {"logprobs", logprobs_json(choice.told)}};
}

Json chat_delta(const Chunk& chunk) {
  Json delta = Json::object();
  if (chunk.first) delta["role"] = "assistant";
  if (chunk.first || !chunk.text.empty()) delta["content"] = chunk.text;
  return {
      {"index", chunk.index}, {"delta", std::move(delta)}, {"logprobs", logprobs_json(chunk.told)}};
}

}  // namespace forge::serve
