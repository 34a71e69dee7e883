// Which files of a checkpoint are its tokenizer.
#include <filesystem>
#include <string_view>
#include <utility>

#include "forge/formats/json_tree.h"
#include "forge/text/load_tokenizer.h"
#include "tokenizer_files.h"

namespace forge::text {
namespace {

namespace fs = std::filesystem;

using formats::FileError;

/// Of any of the files: twice the largest that is published, of a quarter of a million tokens.
constexpr std::uint64_t kBytesMax = std::uint64_t{64} << 20;

/// A link to nothing is there: opening it says what is wrong.
bool is_there(const fs::path& path) { return exists(fs::symlink_status(path)); }

using Parse = LoadedTokenizer (*)(std::string_view, std::string_view, const std::string&);

/// Reads `path` and tokenizer_config.json beside it, if that is there.
LoadedTokenizer load_with_config(const std::string& path, Parse parse) {
  const auto file = formats::open_json(path, kBytesMax);
  if (!file) return tl::unexpected(file.error());
  const std::string config_path = detail::config_path_beside(path);
  if (!is_there(config_path)) return parse(text_of(*file), {}, path);
  const auto config = formats::open_json(config_path, kBytesMax);
  if (!config) return tl::unexpected(config.error());
  return parse(text_of(*file), text_of(*config), path);
}

LoadedTokenizer load_directory(const fs::path& directory) {
  const fs::path json = directory / detail::kTokenizerJson;
  const fs::path model = directory / detail::kSentencePiece;
  const bool is_sentence_piece = !is_there(json) && is_there(model);
  return is_sentence_piece ? load_with_config(model.string(), parse_sentence_piece)
                           : load_with_config(json.string(), parse_tokenizer);
}

}  // namespace

namespace detail {

std::string config_path_beside(const std::string& path) {
  return fs::path(path).replace_filename("tokenizer_config.json").string();
}

}  // namespace detail

bool has_tokenizer(const std::string& directory) {
  return is_there(fs::path(directory) / detail::kTokenizerJson) ||
         is_there(fs::path(directory) / detail::kSentencePiece);
}

LoadedTokenizer load_tokenizer(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return load_directory(path);
  const std::string extension = fs::path(path).extension().string();
  if (extension == ".gguf") {
    const auto file = formats::Gguf::open(path);
    if (!file) return tl::unexpected(file.error());
    return load_tokenizer(*file);
  }
  if (extension == ".json") return load_with_config(path, parse_tokenizer);
  if (extension == ".model") return load_with_config(path, parse_sentence_piece);
  if (extension == ".safetensors") return load_directory(fs::path(path).parent_path());
  if (!is_there(path)) return load_directory(path);
  return tl::unexpected(
      FileError{.file = path,
                .message = "has a name that ends like none that is read; accepted are a directory, "
                           ".gguf, .safetensors, tokenizer.json and tokenizer.model"});
}

}  // namespace forge::text
