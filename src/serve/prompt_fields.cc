// The field `prompt`: a text, token ids, or several of these.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "field_readers.h"
#include "forge/json/parse.h"

namespace forge::serve {
namespace {

using Tokens = std::vector<TokenId>;

constexpr std::size_t kPromptsMax = 64;

bool is_token_ids(const nlohmann::json& value) {
  return value.is_array() && !value.empty() && value.front().is_number();
}

/// Nothing and a fault if it is no prompt.
std::optional<UntokenizedPrompt> read_prompt(const nlohmann::json& value, std::string name,
                                             const Reading& reading) {
  if (value.is_string()) return UntokenizedPrompt{std::move(name), value.get<std::string>()};
  if (!is_token_ids(value)) {
    reading.fields.fault().set(
        name + " is " + json::shown(value) +
            "; accepted is a text, a list of token ids, or a list of either of these",
        "prompt");
    return std::nullopt;
  }
  auto tokens = read_token_ids(value, name, "prompt", reading);
  if (!tokens) return std::nullopt;
  return UntokenizedPrompt{std::move(name), *std::move(tokens)};
}

}  // namespace

std::optional<std::vector<TokenId>> read_token_ids(const nlohmann::json& list,
                                                   const std::string& name, const char* field,
                                                   const Reading& reading) {
  Tokens tokens;
  tokens.reserve(list.size());
  for (const nlohmann::json& id : list) {
    const std::uint32_t size = reading.model.vocabulary_size;
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= size) {
      reading.fields.fault().set(name + " has the token id " + json::shown(id) + "; accepted is " +
                                     accepted(IntegerRange{0, size - 1}),
                                 field);
      return std::nullopt;
    }
    tokens.emplace_back(id.get<std::uint32_t>());
  }
  return tokens;
}

void read_prompts(const Reading& reading) {
  const json::Fields& fields = reading.fields;
  const nlohmann::json* value = fields.find("prompt");
  if (reading.kind == RequestKind::generate && (value == nullptr || !value->is_string())) {
    return fields.fail("prompt", "a text");
  }
  if (value == nullptr) {
    return fields.fail("prompt", "a text, a list of token ids, or a list of either of these");
  }
  const bool many = value->is_array() && !is_token_ids(*value);
  if (reading.kind == RequestKind::forge_generate && many) {
    return fields.fail("prompt", "a text or a list of token ids");
  }
  const std::size_t count = many ? value->size() : 1;
  if (count < 1 || count > kPromptsMax) {
    return fields.refuse("prompt", "has " + std::to_string(count) + " prompts; accepted are 1 .. " +
                                       std::to_string(kPromptsMax));
  }
  for (std::size_t i = 0; i < count; ++i) {
    auto prompt = read_prompt(many ? (*value)[i] : *value,
                              many ? "prompt[" + std::to_string(i) + "]" : "prompt", reading);
    if (!prompt) return;
    reading.request.prompts.push_back(std::move(*prompt));
  }
}

}  // namespace forge::serve
