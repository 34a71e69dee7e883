// The writers of openai_api.h.
#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "forge/serve/openai_api.h"
#include "forge/text/utf8_stream.h"
#include "generation_response.h"
#include "response_json.h"

namespace forge::serve {
namespace {

using Json = ResponseJson;

/// null where no log-probabilities were asked for.
Json logprobs_json(std::span<const ToldText> told) {
  if (std::ranges::none_of(told, [](const ToldText& token) { return token.logprob.has_value(); })) {
    return nullptr;
  }
  Json logprobs = {{"tokens", Json::array()},
                   {"token_logprobs", Json::array()},
                   {"top_logprobs", Json::array()},
                   {"text_offset", Json::array()}};
  for (const ToldText& token : told) {
    logprobs["tokens"].push_back(token_text(token.bytes));
    logprobs["token_logprobs"].push_back(token.logprob ? Json(*token.logprob) : Json(nullptr));
    Json likely = Json::object();
    for (const auto& [bytes, logprob] : token.likely) {
      const std::string text = token_text(bytes);
      if (!likely.contains(text)) likely[text] = logprob;
    }
    logprobs["top_logprobs"].push_back(likely.empty() ? Json(nullptr) : std::move(likely));
    logprobs["text_offset"].push_back(token.offset);
  }
  return logprobs;
}

/// What all choices have beside their text.
template <class Source>
Json with_end(Json choice, const Source& source) {
  choice["finish_reason"] = finish_json(source.finish, source.calls_tools);
  Json flip_risk = flip_risk_json(source.told);
  if (!flip_risk.empty()) choice["forge"] = {{"flip_risk", std::move(flip_risk)}};
  return choice;
}

std::string_view object_name(RequestKind kind, bool chunk) {
  if (kind == RequestKind::chat) return chunk ? "chat.completion.chunk" : "chat.completion";
  if (kind == RequestKind::forge_generate) {
    return chunk ? "forge.generation.chunk" : "forge.generation";
  }
  return "text_completion";
}

std::string generate_json(const Choice& choice, const Usage& usage) {
  return text_of({{"text", choice.text},
                  {"prompt_tokens", usage.prompt_tokens},
                  {"completion_tokens", usage.completion_tokens}});
}

Json entry_json(const ModelCard& model) {
  return {{"id", model.id},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "forge"},
          {"root", model.id},
          {"parent", nullptr},
          {"max_model_len", model.context_tokens}};
}

}  // namespace

std::string text_of(const Json& body) {
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// With what OpenAI says of predicted outputs, and the same by the name of what predicted them.
Json usage_json(const Usage& usage) {
  Json json = {{"prompt_tokens", usage.prompt_tokens},
               {"completion_tokens", usage.completion_tokens},
               {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
               {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
  if (usage.draft_source.empty()) return json;
  const auto [proposed, accepted] = usage.drafts;
  json["completion_tokens_details"] = {{"accepted_prediction_tokens", accepted},
                                       {"rejected_prediction_tokens", proposed - accepted}};
  json["drafts"] = {{"source", usage.draft_source}, {"proposed", proposed}, {"accepted", accepted}};
  return json;
}

Json flip_risk_json(std::span<const ToldText> told) {
  Json margins = Json::array();
  for (const ToldText& token : told) {
    if (!token.flip_risk) continue;
    const bool other = *token.flip_risk < std::numeric_limits<float>::max();
    margins.push_back(other ? Json(*token.flip_risk) : Json(nullptr));
  }
  return margins;
}

Json finish_json(FinishReason reason, bool calls_tools) {
  const auto name = finish_reason_name(reason, calls_tools);
  return name ? Json(*name) : Json(nullptr);
}

Json beginning_json(const AnswerHead& head, bool chunk) {
  Json body = {{"id", head.id},
               {"object", object_name(head.kind, chunk)},
               {"created", head.created},
               {"model", head.model}};
  if (!head.system_fingerprint.empty()) body["system_fingerprint"] = head.system_fingerprint;
  return body;
}

std::optional<std::string_view> finish_reason_name(FinishReason reason, bool calls_tools) {
  switch (reason) {
    case FinishReason::length:
      return "length";
    case FinishReason::eos:
    case FinishReason::stop:
      return calls_tools ? "tool_calls" : "stop";
    case FinishReason::deadline:
      return "deadline";
    case FinishReason::none:
    case FinishReason::cancelled:
    case FinishReason::error:
      break;
  }
  return std::nullopt;
}

std::string token_text(std::string_view bytes) {
  text::Utf8Stream utf8;
  std::string text;
  for (const char byte : bytes) utf8.push(static_cast<unsigned char>(byte), text);
  utf8.finish(text);
  if (text == bytes) return text;
  constexpr const char* kDigits = "0123456789abcdef";
  std::string hexadecimal = "bytes:";
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hexadecimal += {'\\', 'x', kDigits[value >> 4U], kDigits[value & 15U]};
  }
  return hexadecimal;
}

Json completion_choice(std::size_t index, std::string_view text, std::span<const ToldText> told) {
  return {{"index", index}, {"text", text}, {"logprobs", logprobs_json(told)}};
}

std::vector<Choice> likeliest_choices(std::vector<Choice> choices, std::uint32_t n,
                                      std::uint32_t best_of) {
  if (n == best_of) return choices;
  const auto mean = [](const Choice& choice) {
    return choice.logprob / std::max(choice.completion_tokens, 1U);
  };
  std::vector<Choice> likeliest;
  for (std::size_t first = 0; first < choices.size(); first += best_of) {
    const std::span<Choice> candidates = std::span(choices).subspan(first, best_of);
    std::ranges::stable_sort(candidates, std::ranges::greater(), mean);
    std::ranges::move(candidates.first(n), std::back_inserter(likeliest));
  }
  return likeliest;
}

std::string answer_json(const AnswerHead& head, std::span<const Choice> choices,
                        const Usage& usage) {
  if (head.kind == RequestKind::generate) return generate_json(choices.front(), usage);
  Json body = beginning_json(head, false);
  body["choices"] = Json::array();
  if (head.session_messages) body["forge"] = {{"session_messages", *head.session_messages}};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Choice& choice = choices[i];
    Json entry = head.kind == RequestKind::chat ? chat_choice(i, choice)
                                                : completion_choice(i, choice.text, choice.told);
    body["choices"].push_back(with_end(std::move(entry), choice));
  }
  body["usage"] = usage_json(usage);
  return text_of(body);
}

ChunkWriter::ChunkWriter(const AnswerHead& head)
    : kind_(head.kind), beginning_(text_of(beginning_json(head, true))) {
  beginning_.pop_back();
  if (!head.session_messages) return;
  session_ = R"(,"forge":{"session_messages":)" + std::to_string(*head.session_messages) + "}";
}

std::string ChunkWriter::chunk(const Chunk& chunk) const {
  if (kind_ == RequestKind::forge_generate) {
    return beginning_ + "," + text_of(generation_chunk(chunk)).substr(1);
  }
  Json entry = kind_ == RequestKind::chat ? chat_delta(chunk)
                                          : completion_choice(chunk.index, chunk.text, chunk.told);
  std::string text =
      beginning_ + R"(,"choices":[)" + text_of(with_end(std::move(entry), chunk)) + "]" + session_;
  if (chunk.usage) {
    text += R"(,"usage":)" + text_of(usage_json(*chunk.usage));
  } else if (chunk.usage_follows) {
    text += R"(,"usage":null)";
  }
  return text + "}";
}

std::string ChunkWriter::usage(const Usage& usage) const {
  return beginning_ + R"(,"choices":[])" + session_ + R"(,"usage":)" + text_of(usage_json(usage)) +
         "}";
}

std::string models_json(const ModelCard& model) {
  return text_of({{"object", "list"}, {"data", Json::array({entry_json(model)})}});
}

std::string model_json(const ModelCard& model) { return text_of(entry_json(model)); }

}  // namespace forge::serve
