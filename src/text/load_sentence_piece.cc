// The reader of SentencePiece's tokenizer.model.
#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "forge/core/quoted.h"
#include "forge/formats/json_tree.h"
#include "forge/text/load_tokenizer.h"
#include "sentence_piece_file.h"
#include "sentence_piece_normalizer.h"
#include "tokenizer_config.h"
#include "tokenizer_files.h"
#include "unigram_model.h"
#include "utf8_text.h"

namespace forge::text {
namespace {

using detail::SentencePieceFile;
using detail::SentencePieceNormalizer;
using detail::TokenizerDescription;
using formats::FileError;
using Checked = tl::expected<void, std::string>;
using Role = detail::TokenEntry::Role;
using Type = SentencePieceFile::Type;

class SentencePieceReader {
 public:
  explicit SentencePieceReader(const SentencePieceFile& file) : file_(file) {
    for (const SentencePieceFile::Piece& piece : file.pieces) {
      if (piece.type != Type::normal) continue;
      lowest_ = std::min(lowest_, piece.score);
      highest_ = std::max(highest_, piece.score);
    }
  }

  Checked read() {
    if (Checked done = read_model(); !done) return done;
    if (Checked done = read_pieces(); !done) return done;
    if (Checked done = read_normalizer(); !done) return done;
    find_special();
    return {};
  }

  TokenizerDescription& description() { return out_; }

  /// What is found as it is spelt and was not added by anyone yet.
  void add_controls() {
    for (std::uint32_t id = 0; id < file_.pieces.size(); ++id) {
      if (file_.pieces[id].type != Type::control) continue;
      out_.stages.added.add(file_.pieces[id].text, {.token = TokenId(id), .control = true});
    }
  }

 private:
  bool is_unigram() const { return file_.model == SentencePieceFile::Model::unigram; }
  Checked read_model();
  Checked read_pieces();
  Checked read_normalizer();
  void find_special();
  Role role_of(Type type) const;
  double score_of(const SentencePieceFile::Piece& piece) const;

  const SentencePieceFile& file_;
  TokenizerDescription out_;
  float lowest_ = std::numeric_limits<float>::max();
  float highest_ = std::numeric_limits<float>::min();  // above 0, as with SentencePiece
};

Checked SentencePieceReader::read_model() {
  if (file_.model == SentencePieceFile::Model::word ||
      file_.model == SentencePieceFile::Model::character) {
    const bool word = file_.model == SentencePieceFile::Model::word;
    return tl::unexpected(std::string("trainer_spec.model_type is ") + (word ? "WORD" : "CHAR") +
                          ", accepted are UNIGRAM and BPE");
  }
  out_.model = is_unigram() ? TokenizerDescription::Model::unigram
                            : TokenizerDescription::Model::scored_merges;
  out_.units = TokenizerDescription::Units::characters;
  out_.byte_fallback = file_.byte_fallback;
  out_.fuse_unknown = true;
  out_.float_sums = true;
  if (lowest_ < std::numeric_limits<float>::max()) {
    out_.unknown_score = lowest_ - static_cast<float>(detail::UnigramModel::kUnknownPenalty);
  }
  return {};
}

Role SentencePieceReader::role_of(Type type) const {
  switch (type) {
    case Type::unknown:
    case Type::control:
      return Role::control;
    case Type::unused:
      return Role::unused;
    case Type::user_defined:
      // A unigram model weighs them against other pieces; with merges they stay as they are.
      return is_unigram() ? Role::normal : Role::added;
    case Type::normal:
    case Type::byte:
      break;
  }
  return Role::normal;
}

/// SentencePiece weighs a symbol that the vocabulary defines itself as so many of the best pieces
/// as it has bytes. But it looks for the best from the least float above 0 on, and logarithms of
/// probabilities are below: the symbol is as good as certain.
double SentencePieceReader::score_of(const SentencePieceFile::Piece& piece) const {
  if (piece.type != Type::user_defined) return piece.score;
  return static_cast<float>(piece.text.size()) * highest_ - 0.1;
}

Checked SentencePieceReader::read_pieces() {
  for (std::uint32_t id = 0; id < file_.pieces.size(); ++id) {
    const SentencePieceFile::Piece& piece = file_.pieces[id];
    if (piece.text.empty() || !detail::is_valid_utf8(piece.text)) {
      return tl::unexpected("piece " + std::to_string(id) + " is " + in_quotes(piece.text) +
                            "; accepted is valid UTF-8 that is not empty");
    }
    out_.tokens.push_back({piece.text, role_of(piece.type)});
    out_.scores.push_back(score_of(piece));
    if (piece.type == Type::unknown) out_.unknown = id;
    if (piece.type == Type::user_defined && !is_unigram()) {
      out_.stages.added_normalized.add(piece.text, {.token = TokenId(id)});
    }
  }
  return {};
}

Checked SentencePieceReader::read_normalizer() {
  SentencePieceNormalizer normalizer{.map = {},
                                     .symbols = {},
                                     .drops_extra_spaces = file_.drops_extra_spaces,
                                     .adds_space = file_.adds_space,
                                     .space_is_suffix = file_.space_is_suffix,
                                     .marks_spaces = file_.marks_spaces};
  if (!file_.chars_map.empty()) {
    auto map = detail::CharsMap::parse(file_.chars_map);
    if (!map) return tl::unexpected("precompiled_charsmap " + map.error());
    normalizer.map = *std::move(map);
  }
  for (std::uint32_t id = 0; id < file_.pieces.size(); ++id) {
    if (file_.pieces[id].type != Type::user_defined) continue;
    normalizer.symbols.add(file_.pieces[id].text, {.token = TokenId(id)});
  }
  out_.stages.normalizer.rewrite([normalizer = std::move(normalizer)](const std::string& text) {
    return normalizer.apply(text);
  });
  return {};
}

/// A text begins with the begin-of-sequence token where there is one: the file does not say
/// whether, and tokenizer_config.json may.
void SentencePieceReader::find_special() {
  for (std::uint32_t id = 0; id < file_.pieces.size(); ++id) {
    const SentencePieceFile::Piece& piece = file_.pieces[id];
    if (piece.type != Type::control) continue;
    if (piece.text == file_.begin) out_.special.begin = TokenId(id);
    if (piece.text == file_.end) out_.special.end = {TokenId(id)};
    if (piece.text == file_.padding) out_.special.padding = TokenId(id);
  }
  if (out_.special.begin) out_.special.before = {*out_.special.begin};
}

tl::expected<nlohmann::json, FileError> object_of(std::string_view text, const std::string& path) {
  if (text.empty()) return nlohmann::json::object();
  return formats::parse_json_object(text, path);
}

/// tokenizer_config.json, with the tokens of added_tokens.json where it has none.
tl::expected<nlohmann::json, FileError> config_of(const SentencePieceFiles& files,
                                                  const std::string& path) {
  const std::string config_path = detail::path_beside(path, detail::kTokenizerConfig);
  auto config = object_of(files.tokenizer_config_json, config_path);
  if (!config || config->contains("added_tokens_decoder")) return config;
  const std::string added_path = detail::path_beside(path, detail::kAddedTokens);
  const auto added = object_of(files.added_tokens_json, added_path);
  if (!added) return tl::unexpected(added.error());
  json::Fault of_added;
  json::Fault of_config;
  auto tokens = detail::added_tokens_decoder({*added, "", of_added}, {*config, "", of_config});
  for (const auto& [file, fault] : {std::pair(added_path, of_added), {config_path, of_config}}) {
    if (fault.is_set()) return tl::unexpected(FileError{.file = file, .message = fault.message});
  }
  (*config)["added_tokens_decoder"] = std::move(tokens);
  return config;
}

}  // namespace

LoadedTokenizer parse_sentence_piece(const SentencePieceFiles& files, const std::string& path) {
  const auto wrong = [](const std::string& file, std::string message) {
    return tl::unexpected(FileError{.file = file, .message = std::move(message)});
  };
  const auto file = detail::parse_sentence_piece_file(files.tokenizer_model);
  if (!file) return wrong(path, file.error());
  SentencePieceReader reader(*file);
  if (auto done = reader.read(); !done) return wrong(path, std::move(done.error()));
  TokenizerDescription& description = reader.description();
  const auto config = config_of(files, path);
  if (!config) return tl::unexpected(config.error());
  json::Fault fault;
  const json::Fields fields(*config, "", fault);
  detail::read_added_tokens_decoder(fields, files.tokenizer_model.size(), description);
  detail::read_config(fields, description);
  if (fault.is_set()) {
    return wrong(detail::path_beside(path, detail::kTokenizerConfig), fault.message);
  }
  reader.add_controls();
  auto built = detail::build_tokenizer(std::move(description));
  if (!built) return wrong(path, std::move(built.error()));
  return std::move(*built);
}

}  // namespace forge::text
