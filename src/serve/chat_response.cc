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

Json call_json(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.tool}, {"arguments", call.arguments}}}};
}

/// The first event of a call has what names it, the others only more of its arguments.
Json call_delta(const ToolCall& call, std::size_t index) {
  Json delta = {{"index", index}};
  if (call.id.empty()) {
    delta["function"] = {{"arguments", call.arguments}};
  } else {
    delta.update(call_json(call));
  }
  return delta;
}

}  // namespace

Json chat_choice(std::size_t index, const Choice& choice) {
  Json message = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
  if (choice.text.empty() && !choice.calls.empty()) message["content"] = nullptr;
  if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
  for (const ToolCall& call : choice.calls) message["tool_calls"].push_back(call_json(call));
  return {
      {"index", index}, {"message", std::move(message)}, {"logprobs", logprobs_json(choice.told)}};
}

Json chat_delta(const Chunk& chunk) {
  Json delta = Json::object();
  if (chunk.first) delta["role"] = "assistant";
  const bool is_text = chunk.call == nullptr && chunk.reasoning.empty();
  if ((chunk.first && is_text) || !chunk.text.empty()) delta["content"] = chunk.text;
  if (!chunk.reasoning.empty()) delta["reasoning_content"] = chunk.reasoning;
  if (chunk.call != nullptr)
    delta["tool_calls"] = Json::array({call_delta(*chunk.call, chunk.call_index)});
  return {
      {"index", chunk.index}, {"delta", std::move(delta)}, {"logprobs", logprobs_json(chunk.told)}};
}

}  // namespace forge::serve
