// The reader of tokenizer.json and tokenizer_config.json.
#include <filesystem>
#include <utility>

#include "forge/formats/json_tree.h"
#include "forge/text/load_tokenizer.h"
#include "tokenizer_json.h"

namespace forge::text {
namespace {

using detail::BpeDescription;
using formats::FileError;
using Json = nlohmann::json;
using Role = detail::TokenEntry::Role;

constexpr const char* kConfigName = "tokenizer_config.json";

/// Of either file: twice the largest that is published, of a quarter of a million tokens.
constexpr std::uint64_t kBytesMax = std::uint64_t{64} << 20;

/// A token that the configuration names: its spelling, or an object with it as "content".
std::optional<TokenId> named_token(const json::Fields& config, std::string_view key,
                                   const BpeDescription& description) {
  const Json* value = config.find(key);
  if (value == nullptr) return std::nullopt;
  const std::string spelling =
      value->is_object() ? config.required_object(key).text("content", "") : config.text(key, "");
  for (std::uint32_t id = 0; id < description.tokens.size(); ++id) {
    const auto& token = description.tokens[id];
    if (token.role != Role::absent && token.spelling == spelling) return TokenId(id);
  }
  config.fail(key, "the spelling of a token");
  return std::nullopt;
}

/// Has the last word on whether and with what a text begins.
void read_config(const json::Fields& config, BpeDescription& out) {
  const auto begin = named_token(config, "bos_token", out);
  const auto end = named_token(config, "eos_token", out);
  if (end) out.eos.push_back(*end);
  config.only("add_eos_token", false);
  if (!config.has("add_bos_token")) return;
  const bool begins = config.boolean("add_bos_token", false);
  if (begins && !begin) return config.fail("bos_token", "a token, as add_bos_token is true");
  out.begin_of_sequence = begins ? begin : std::nullopt;
}

void read_tokenizer(const json::Fields& file, std::uint64_t id_limit, BpeDescription& out) {
  detail::read_model(file, id_limit, out);
  detail::read_normalizer(file, out);
  detail::read_pre_tokenizer(file, out);
  detail::read_added_tokens(file, id_limit, out);
  out.begin_of_sequence = detail::read_post_processor(file, out);
}

}  // namespace

LoadedTokenizer parse_tokenizer(std::string_view tokenizer_json,
                                std::string_view tokenizer_config_json, const std::string& path) {
  const auto wrong = [](const std::string& file, std::string message) {
    return tl::unexpected(FileError{.file = file, .message = std::move(message)});
  };
  const auto tokenizer = formats::parse_json_object(tokenizer_json, path);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  BpeDescription description;
  json::Fault fault;
  read_tokenizer({*tokenizer, "", fault}, tokenizer_json.size(), description);
  if (fault.is_set()) return wrong(path, fault.message);
  if (!tokenizer_config_json.empty()) {
    const std::string config_path =
        std::filesystem::path(path).replace_filename(kConfigName).string();
    const auto config = formats::parse_json_object(tokenizer_config_json, config_path);
    if (!config) return tl::unexpected(config.error());
    read_config({*config, "", fault}, description);
    if (fault.is_set()) return wrong(config_path, fault.message);
  }
  auto built = detail::build_bpe(std::move(description));
  if (!built) return wrong(path, std::move(built.error()));
  return std::move(*built);
}

LoadedTokenizer load_tokenizer(const std::string& directory) {
  const std::string path = directory + "/tokenizer.json";
  const auto tokenizer = formats::open_json(path, kBytesMax);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  const std::string config_path = directory + "/" + kConfigName;
  // A link to nothing is there: opening it says what is wrong.
  if (!exists(std::filesystem::symlink_status(config_path))) {
    return parse_tokenizer(text_of(*tokenizer), {}, path);
  }
  const auto config = formats::open_json(config_path, kBytesMax);
  if (!config) return tl::unexpected(config.error());
  return parse_tokenizer(text_of(*tokenizer), text_of(*config), path);
}

}  // namespace forge::text
