// The reader of GGUF's tokenizer.ggml.*.
#include <algorithm>
#include <utility>

#include "description.h"
#include "forge/core/quoted.h"
#include "forge/text/load_tokenizer.h"
#include "gguf_pre_tokenizers.h"
#include "gguf_tokens.h"
#include "sentence_piece_normalizer.h"
#include "utf8_text.h"

namespace forge::text {
namespace {

using detail::TokenEntry;
using detail::TokenizerDescription;
using formats::FileError;
using formats::Gguf;
using Role = TokenEntry::Role;
using Done = tl::expected<void, FileError>;

namespace gguf_token = detail::gguf_token;

const std::string kPrefix(detail::kGgufPrefix);

class GgufReader {
 public:
  explicit GgufReader(const Gguf& file) : file_(file) {}

  LoadedTokenizer read();

 private:
  Done read_model(std::string_view model);
  Done read_tokens();
  Done read_types();
  Done read_special();
  Done read_scores();
  Done read_scored();
  Done read_unigram();
  Done read_unigram_normalizer();
  Done read_merged(std::string_view pre_tokenizer);
  Done read_pre_tokenizer(std::string_view name);
  void find_byte_tokens();

  tl::unexpected<FileError> wrong(std::string message) const {
    return tl::unexpected(FileError{
        .file = file_.file().path(), .message = std::move(message), .tensor = {}, .offset = {}});
  }
  bool has(const std::string& key) const { return file_.value(kPrefix + key) != nullptr; }
  tl::expected<bool, FileError> flag(const std::string& key, bool otherwise) const {
    if (!has(key)) return otherwise;
    return file_.boolean(kPrefix + key);
  }
  /// A token's id, or `otherwise` if there is no such key.
  tl::expected<std::optional<TokenId>, FileError> token(
      const std::string& key, std::optional<TokenId> otherwise = std::nullopt) const;
  /// The token of this id, where the vocabulary is so large.
  std::optional<TokenId> known(std::uint32_t id) const {
    return id < out_.tokens.size() ? std::optional(TokenId(id)) : std::nullopt;
  }

  const Gguf& file_;
  TokenizerDescription out_;
  /// What a file means that does not say it.
  struct Otherwise {
    bool begins = false;
    bool ends = false;
    std::optional<TokenId> begin;
    std::optional<TokenId> end;
    std::optional<TokenId> padding;
  } otherwise_;
};

tl::expected<std::optional<TokenId>, FileError> GgufReader::token(
    const std::string& key, std::optional<TokenId> otherwise) const {
  if (!has(key)) return otherwise;
  const auto id = file_.integer(kPrefix + key);
  if (!id) return tl::unexpected(id.error());
  if (*id < 0 || static_cast<std::uint64_t>(*id) >= out_.tokens.size()) {
    return wrong(kPrefix + key + " is " + std::to_string(*id) + ", tokens are from 0 to " +
                 std::to_string(out_.tokens.size() - 1));
  }
  return TokenId(static_cast<std::uint32_t>(*id));
}

Done GgufReader::read_tokens() {
  const auto texts = file_.texts(kPrefix + "tokens");
  if (!texts) return tl::unexpected(texts.error());
  if (texts->empty()) return wrong(kPrefix + "tokens is empty");
  for (const std::string_view text : *texts) {
    if (!detail::is_valid_utf8(text)) {
      return wrong("the spelling " + in_quotes(text) + " of a token is not valid UTF-8");
    }
    out_.tokens.push_back({text, Role::normal});
  }
  return read_types();
}

Done GgufReader::read_types() {
  if (!has("token_type")) return {};
  const auto types = file_.integers(kPrefix + "token_type");
  if (!types) return tl::unexpected(types.error());
  if (types->size() != out_.tokens.size()) {
    return wrong(kPrefix + "token_type has " + std::to_string(types->size()) + " types for " +
                 std::to_string(out_.tokens.size()) + " tokens");
  }
  for (std::size_t id = 0; id < types->size(); ++id) {
    const std::int64_t type = types->integer(id);
    TokenEntry& entry = out_.tokens[id];
    if (type < gguf_token::kNormal || type > gguf_token::kByte) {
      return wrong("token " + std::to_string(id) + " is of type " + std::to_string(type) +
                   ", accepted are 1 to 6");
    }
    const bool control = type == gguf_token::kControl || type == gguf_token::kUnknown;
    if (type == gguf_token::kUnused) entry.role = Role::unused;
    if (control) entry.role = Role::control;
    if (type == gguf_token::kUserDefined) entry.role = Role::added;
    if (!control && type != gguf_token::kUserDefined) continue;
    if (entry.spelling.empty()) return wrong("token " + std::to_string(id) + " has no spelling");
    out_.stages.added.add(entry.spelling,
                          {.token = TokenId(static_cast<std::uint32_t>(id)), .control = control});
  }
  return {};
}

Done GgufReader::read_special() {
  detail::SpecialTokens& special = out_.special;
  const auto begins = flag("add_bos_token", otherwise_.begins);
  if (!begins) return tl::unexpected(begins.error());
  const auto ends = flag("add_eos_token", otherwise_.ends);
  if (!ends) return tl::unexpected(ends.error());
  const auto begin = token("bos_token_id", otherwise_.begin);
  if (!begin) return tl::unexpected(begin.error());
  if (*begins && !*begin) return wrong("there is no " + kPrefix + "bos_token_id to begin with");
  special.begin = *begin;
  if (*begins) special.before = {**begin};
  const auto padding = token("padding_token_id", otherwise_.padding);
  if (!padding) return tl::unexpected(padding.error());
  special.padding = *padding;

  for (const auto& [key, otherwise] :
       {std::pair{"eos_token_id", otherwise_.end}, {"eot_token_id", std::optional<TokenId>()}}) {
    const auto end = token(key, otherwise);
    if (!end) return tl::unexpected(end.error());
    if (*end && std::find(special.end.begin(), special.end.end(), **end) == special.end.end()) {
      special.end.push_back(**end);
    }
  }
  if (*ends && special.end.empty()) {
    return wrong("there is no " + kPrefix + "eos_token_id to end with");
  }
  if (*ends) special.after = {special.end.front()};
  return {};
}

Done GgufReader::read_scores() {
  const auto scores = file_.numbers(kPrefix + "scores");
  if (!scores) return tl::unexpected(scores.error());
  if (scores->size() != out_.tokens.size()) {
    return wrong(kPrefix + "scores has " + std::to_string(scores->size()) + " scores for " +
                 std::to_string(out_.tokens.size()) + " tokens");
  }
  for (std::size_t i = 0; i < scores->size(); ++i) out_.scores.push_back(scores->number(i));
  return {};
}

/// SentencePiece's BPE.
Done GgufReader::read_scored() {
  out_.model = TokenizerDescription::Model::scored_merges;
  out_.units = TokenizerDescription::Units::characters;
  if (auto done = read_scores(); !done) return done;
  out_.byte_fallback = true;
  const auto unknown = token("unknown_token_id", TokenId(0));
  if (!unknown) return tl::unexpected(unknown.error());
  out_.unknown = (*unknown)->value;
  out_.fuse_unknown = true;
  const auto prefix = flag("add_space_prefix", true);
  if (!prefix) return tl::unexpected(prefix.error());
  if (*prefix) out_.stages.normalizer.prepend(std::string(detail::kSpaceMark));
  out_.stages.normalizer.replace(" ", std::string(detail::kSpaceMark));
  otherwise_ = {.begins = true, .begin = known(1), .end = known(2)};
  return {};
}

/// SentencePiece's unigram model.
Done GgufReader::read_unigram() {
  out_.model = TokenizerDescription::Model::unigram;
  out_.units = TokenizerDescription::Units::characters;
  if (auto done = read_scores(); !done) return done;
  const auto unknown = token("unknown_token_id", known(2));
  if (!unknown) return tl::unexpected(unknown.error());
  if (*unknown) out_.unknown = (*unknown)->value;
  out_.fuse_unknown = true;
  find_byte_tokens();
  otherwise_ = {.ends = true, .begin = {}, .end = known(1), .padding = known(0)};
  return read_unigram_normalizer();
}

/// Whether the types of tokens say that there are tokens of bytes.
void GgufReader::find_byte_tokens() {
  if (!has("token_type")) return;
  const auto types = file_.integers(kPrefix + "token_type");
  for (std::size_t id = 0; types && id < types->size(); ++id) {
    out_.byte_fallback = out_.byte_fallback || types->integer(id) == gguf_token::kByte;
  }
}

Done GgufReader::read_unigram_normalizer() {
  detail::SentencePieceNormalizer normalizer;
  const auto adds_space = flag("add_space_prefix", false);
  if (!adds_space) return tl::unexpected(adds_space.error());
  const auto drops = flag("remove_extra_whitespaces", false);
  if (!drops) return tl::unexpected(drops.error());
  normalizer.adds_space = *adds_space;
  normalizer.drops_extra_spaces = *drops;
  if (has("precompiled_charsmap")) {
    const auto numbers = file_.integers(kPrefix + "precompiled_charsmap");
    if (!numbers) return tl::unexpected(numbers.error());
    std::string bytes;
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      bytes.push_back(static_cast<char>(numbers->integer(i) & 0xFF));
    }
    auto map = detail::CharsMap::parse(bytes);
    if (!map) return wrong(kPrefix + "precompiled_charsmap " + map.error());
    normalizer.map = *std::move(map);
  }
  out_.stages.normalizer.rewrite([normalizer = std::move(normalizer)](const std::string& text) {
    return normalizer.apply(text);
  });
  return {};
}

Done GgufReader::read_pre_tokenizer(std::string_view name) {
  const detail::NamedPreTokenizer* const found = detail::find_gguf_pre_tokenizer(name);
  if (found == nullptr) {
    return wrong(kPrefix + "pre is " + in_quotes(name) + ", accepted are " +
                 detail::gguf_pre_tokenizer_names());
  }
  for (const auto& [text, cut] : found->cuts) {
    auto pattern = detail::Pattern::compile(text);
    if (!pattern) return wrong(pattern.error());
    out_.stages.pre_tokenizer.add(std::move(*pattern), cut);
  }
  if (found->composes) out_.stages.normalizer.compose();
  if (found->characters) {
    out_.units = TokenizerDescription::Units::characters;
    out_.byte_fallback = true;
    if (found->marks_spaces) {
      out_.stages.normalizer.replace(" ", std::string(detail::kSpaceMark));
    }
  }
  out_.whole_pieces = found->whole_pieces;
  out_.whole_lines = found->whole_lines;
  otherwise_ = {.begins = found->begin_of_sequence, .begin = {}, .end = {}, .padding = {}};
  return {};
}

/// GPT-2's kind, and SentencePiece's with merges in place of scores.
Done GgufReader::read_merged(std::string_view pre_tokenizer) {
  out_.model = TokenizerDescription::Model::merges;
  out_.units = TokenizerDescription::Units::bytes;
  const auto merges = file_.texts(kPrefix + "merges");
  if (!merges) return tl::unexpected(merges.error());
  for (const std::string_view merge : *merges) {
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos) {
      return wrong("the merge " + in_quotes(merge) + " is not two tokens and a space between");
    }
    out_.merges.push_back({merge.substr(0, space), merge.substr(space + 1)});
  }
  return read_pre_tokenizer(pre_tokenizer);
}

Done GgufReader::read_model(std::string_view model) {
  if (model == "llama") return read_scored();
  if (model == "t5") return read_unigram();
  if (model == "gemma4") return read_merged(model);
  const auto name = file_.text(kPrefix + "pre");
  if (!name) return tl::unexpected(name.error());
  return read_merged(*name);
}

LoadedTokenizer GgufReader::read() {
  const auto model = file_.text(kPrefix + "model");
  if (!model) return tl::unexpected(model.error());
  if (*model != "llama" && *model != "gpt2" && *model != "gemma4" && *model != "t5") {
    return wrong(kPrefix + "model is " + in_quotes(*model) +
                 (*model == "bert" ? " (WordPiece)" : "") +
                 ", accepted are llama, gpt2, gemma4, t5");
  }
  if (auto done = read_tokens(); !done) return tl::unexpected(done.error());
  if (auto done = read_model(*model); !done) return tl::unexpected(done.error());
  if (auto done = read_special(); !done) return tl::unexpected(done.error());
  auto built = detail::build_tokenizer(std::move(out_));
  if (!built) return wrong(std::move(built.error()));
  return std::move(*built);
}

}  // namespace

LoadedTokenizer load_tokenizer(const formats::Gguf& file) { return GgufReader(file).read(); }

}  // namespace forge::text
