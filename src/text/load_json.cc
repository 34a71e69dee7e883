// The reader of tokenizer.json and tokenizer_config.json.
#include <filesystem>
#include <utility>

#include "forge/formats/json_tree.h"
#include "forge/text/load_tokeniser.h"
#include "tokenizer_json.h"

namespace forge::text {
namespace {

using detail::BpeDescription;
using detail::JsonFault;
using detail::TokenizerFields;
using formats::FileError;
using nlohmann::json;
using Role = detail::TokenEntry::Role;

constexpr const char* kConfigName = "tokenizer_config.json";

/// Of either file: twice the largest that is published, of a quarter of a million tokens.
constexpr std::uint64_t kBytesMax = std::uint64_t{64} << 20;

/// A token that the configuration names: its spelling, or an object with it as "content".
std::optional<TokenId> named_token(const TokenizerFields& config, std::string_view key,
                                   const BpeDescription& description) {
  const json* value = config.find(key);
  if (value == nullptr) return std::nullopt;
  const bool nested = value->is_object();
  const std::string_view spelling =
      nested ? TokenizerFields(*value, config.name_of(key), config.fault()).text("content")
             : config.text(key);
  for (std::uint32_t id = 0; id < description.tokens.size(); ++id) {
    const auto& token = description.tokens[id];
    if (token.role != Role::absent && token.spelling == spelling) return TokenId(id);
  }
  config.wrong(key, "the spelling of a token");
  return std::nullopt;
}

/// Has the last word on whether and with what a text begins.
void read_config(const TokenizerFields& config, BpeDescription& out) {
  const auto begin = named_token(config, "bos_token", out);
  const auto end = named_token(config, "eos_token", out);
  if (end) out.eos.push_back(*end);
  config.only("add_eos_token", false);
  if (config.find("add_bos_token") == nullptr) return;
  const bool begins = config.boolean("add_bos_token", false);
  if (begins && !begin) return config.wrong("bos_token", "a token, as add_bos_token is true");
  out.begin_of_sequence = begins ? begin : std::nullopt;
}

void read_tokenizer(const TokenizerFields& file, std::uint64_t id_limit, BpeDescription& out) {
  detail::read_model(file, id_limit, out);
  detail::read_normalizer(file, out);
  detail::read_pre_tokenizer(file, out);
  detail::read_added_tokens(file, id_limit, out);
  out.begin_of_sequence = detail::read_post_processor(file, out);
}

}  // namespace

LoadedTokeniser parse_tokeniser(std::string_view tokenizer_json,
                                std::string_view tokenizer_config_json, const std::string& path) {
  const auto wrong = [&](std::string message) {
    return tl::unexpected(
        FileError{.file = path, .message = std::move(message), .tensor = {}, .offset = {}});
  };
  const auto tokenizer = formats::parse_json_tree(tokenizer_json, path);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  BpeDescription description;
  JsonFault fault;
  read_tokenizer({*tokenizer, "tokenizer.json", fault}, tokenizer_json.size(), description);
  if (fault.is_set()) return wrong(fault.message());
  if (!tokenizer_config_json.empty()) {
    const std::string config_path =
        std::filesystem::path(path).replace_filename(kConfigName).string();
    const auto config = formats::parse_json_tree(tokenizer_config_json, config_path);
    if (!config) return tl::unexpected(config.error());
    read_config({*config, kConfigName, fault}, description);
    if (fault.is_set()) return wrong(fault.message());
  }
  auto built = detail::build_bpe(std::move(description));
  if (!built) return wrong(std::move(built.error()));
  return std::move(*built);
}

LoadedTokeniser load_tokeniser(const std::string& directory) {
  const std::string path = directory + "/tokenizer.json";
  const auto tokenizer = formats::open_json(path, kBytesMax);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  const std::string config_path = directory + "/" + kConfigName;
  // A link to nothing is there: opening it says what is wrong.
  if (!exists(std::filesystem::symlink_status(config_path))) {
    return parse_tokeniser(text_of(*tokenizer), {}, path);
  }
  const auto config = formats::open_json(config_path, kBytesMax);
  if (!config) return tl::unexpected(config.error());
  return parse_tokeniser(text_of(*tokenizer), text_of(*config), path);
}

}  // namespace forge::text
