#include "tokenizer_config.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tokenizer_json.h"

namespace forge::text::detail {
namespace {

using Role = TokenEntry::Role;

std::optional<TokenId> find_token(std::string_view spelling,
                                  const TokenizerDescription& description) {
  for (std::uint32_t id = 0; id < description.tokens.size(); ++id) {
    const TokenEntry& token = description.tokens[id];
    if (token.role != Role::absent && token.spelling == spelling) return TokenId(id);
  }
  return std::nullopt;
}

/// A token that the configuration names: its spelling, or an object with it as "content".
std::string spelling_of(const json::Fields& config, std::string_view key) {
  const nlohmann::json* value = config.find(key);
  if (value == nullptr) return {};
  return value->is_object() ? config.required_object(key).text("content", "")
                            : config.text(key, "");
}

std::optional<TokenId> named_token(const json::Fields& config, std::string_view key,
                                   const TokenizerDescription& description) {
  if (!config.has(key)) return std::nullopt;
  const auto token = find_token(spelling_of(config, key), description);
  if (!token) config.fail(key, "the spelling of a token");
  return token;
}

/// What `key` says of whether texts have `token` at one end; the fault is of `name`.
void set_end(const json::Fields& config, std::string_view key, std::string_view name,
             std::optional<TokenId> token, std::vector<TokenId>& end) {
  if (!config.has(key)) return;
  const bool wanted = config.boolean(key, false);
  if (wanted && !token) return config.fail(name, "a token, as " + std::string(key) + " is true");
  end = wanted ? std::vector{*token} : std::vector<TokenId>();
}

}  // namespace

void read_config(const json::Fields& config, TokenizerDescription& out) {
  SpecialTokens& special = out.special;
  const auto begin = named_token(config, "bos_token", out);
  const auto end = named_token(config, "eos_token", out);
  if (begin) special.begin = begin;
  if (end) special.end = {*end};
  if (config.has("pad_token")) special.padding = find_token(spelling_of(config, "pad_token"), out);
  set_end(config, "add_bos_token", "bos_token", special.begin, special.before);
  set_end(config, "add_eos_token", "eos_token", end, special.after);
}

nlohmann::json added_tokens_decoder(const json::Fields& file, const json::Fields& config) {
  std::set<std::string> special;
  for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    special.insert(spelling_of(config, key));
  }
  if (config.has("additional_special_tokens")) {
    for (const nlohmann::json& token : config.items("additional_special_tokens")) {
      const nlohmann::json& spelling = token.is_object() ? token.value("content", token) : token;
      if (spelling.is_string()) special.insert(spelling.get<std::string>());
    }
  }
  nlohmann::json tokens = nlohmann::json::object();
  for (const std::string& spelling : file.keys()) {
    const nlohmann::json id = file.natural(spelling);
    tokens[id.dump()] = {
        {"content", spelling}, {"special", special.contains(spelling)}, {"normalized", false}};
  }
  return tokens;
}

void read_added_tokens_decoder(const json::Fields& config, std::uint64_t id_limit,
                               TokenizerDescription& out) {
  const auto tokens = config.object("added_tokens_decoder");
  if (!tokens) return;
  for (const std::string& key : tokens->keys()) {
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size()) {
      return tokens->fail(key, "keys that are ids");
    }
    read_added_token(tokens->required_object(key), id, id_limit, out);
    if (config.failed()) return;
  }
}

}  // namespace forge::text::detail
