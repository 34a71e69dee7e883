// The reader of tokenizer.json and tokenizer_config.json.
#include <utility>

#include "forge/formats/json_tree.h"
#include "forge/text/load_tokenizer.h"
#include "tokenizer_config.h"
#include "tokenizer_files.h"
#include "tokenizer_json.h"

namespace forge::text {
namespace {

using detail::TokenizerDescription;
using formats::FileError;

void read_tokenizer(const json::Fields& file, std::uint64_t id_limit, TokenizerDescription& out) {
  detail::read_model(file, id_limit, out);
  detail::read_normalizer(file, out);
  detail::read_pre_tokenizer(file, out);
  detail::read_added_tokens(file, id_limit, out);
  detail::read_post_processor(file, out);
  if (!out.special.before.empty()) out.special.begin = out.special.before.front();
}

}  // namespace

LoadedTokenizer parse_tokenizer(std::string_view tokenizer_json,
                                std::string_view tokenizer_config_json, const std::string& path) {
  const auto wrong = [](const std::string& file, std::string message) {
    return tl::unexpected(FileError{.file = file, .message = std::move(message)});
  };
  const auto tokenizer = formats::parse_json_object(tokenizer_json, path);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  TokenizerDescription description;
  json::Fault fault;
  read_tokenizer({*tokenizer, "", fault}, tokenizer_json.size(), description);
  if (fault.is_set()) return wrong(path, fault.message);
  if (!tokenizer_config_json.empty()) {
    const std::string config_path = detail::path_beside(path, detail::kTokenizerConfig);
    const auto config = formats::parse_json_object(tokenizer_config_json, config_path);
    if (!config) return tl::unexpected(config.error());
    detail::read_config({*config, "", fault}, description);
    if (fault.is_set()) return wrong(config_path, fault.message);
  }
  auto built = detail::build_tokenizer(std::move(description));
  if (!built) return wrong(path, std::move(built.error()));
  return std::move(*built);
}

}  // namespace forge::text
