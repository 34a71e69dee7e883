// Which files of a checkpoint are its tokenizer.
#include <deque>
#include <filesystem>
#include <optional>
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

/// A file of a tokenizer, and what it needs of those beside it.
class Files {
 public:
  explicit Files(const std::string& path) : path_(path) {}

  std::string_view main() { return open(path_); }
  /// Empty where there is none of this name.
  std::string_view beside(const char* name) {
    const std::string path = detail::path_beside(path_, name);
    return is_there(path) ? open(path) : std::string_view();
  }
  /// The first error of all that were opened.
  const std::optional<FileError>& error() const { return error_; }

 private:
  std::string_view open(const std::string& path) {
    auto file = formats::open_json(path, kBytesMax);
    if (!file && !error_) error_ = file.error();
    return file ? text_of(files_.emplace_back(*std::move(file))) : std::string_view();
  }

  std::string path_;
  std::deque<formats::MappedFile> files_;
  std::optional<FileError> error_;
};

LoadedTokenizer load_json(const std::string& path) {
  Files files(path);
  const std::string_view json = files.main();
  const std::string_view config = files.beside(detail::kTokenizerConfig);
  if (files.error()) return tl::unexpected(*files.error());
  return parse_tokenizer(json, config, path);
}

LoadedTokenizer load_sentence_piece(const std::string& path) {
  Files files(path);
  const SentencePieceFiles texts{.tokenizer_model = files.main(),
                                 .tokenizer_config_json = files.beside(detail::kTokenizerConfig),
                                 .added_tokens_json = files.beside(detail::kAddedTokens)};
  if (files.error()) return tl::unexpected(*files.error());
  return parse_sentence_piece(texts, path);
}

LoadedTokenizer load_directory(const fs::path& directory) {
  const fs::path json = directory / detail::kTokenizerJson;
  const fs::path model = directory / detail::kSentencePiece;
  const bool is_sentence_piece = !is_there(json) && is_there(model);
  return is_sentence_piece ? load_sentence_piece(model.string()) : load_json(json.string());
}

}  // namespace

namespace detail {

std::string path_beside(const std::string& path, const char* name) {
  return fs::path(path).replace_filename(name).string();
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
  if (extension == ".json") return load_json(path);
  if (extension == ".model") return load_sentence_piece(path);
  if (extension == ".safetensors") return load_directory(fs::path(path).parent_path());
  if (!is_there(path)) return load_directory(path);
  return tl::unexpected(
      FileError{.file = path,
                .message = "has a name that ends like none that is read; accepted are a directory, "
                           ".gguf, .safetensors, tokenizer.json and tokenizer.model"});
}

}  // namespace forge::text
