// The reader of GGUF's tokenizer.ggml.*.
#include <algorithm>
#include <utility>

#include "bpe_builder.h"
#include "forge/core/quoted.h"
#include "forge/text/load_tokenizer.h"
#include "gguf_pre_tokenizers.h"
#include "gguf_tokens.h"
#include "utf8_text.h"

namespace forge::text {
namespace {

using detail::BpeDescription;
using detail::TokenEntry;
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
  Done read_tokens();
  Done read_types();
  Done read_begin_and_end();
  Done read_scored();
  Done read_merged();
  Done read_pre_tokenizer();

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

  const Gguf& file_;
  BpeDescription out_;
  bool begins_by_default_ = false;
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

Done GgufReader::read_begin_and_end() {
  const bool scored = out_.units == BpeDescription::Units::characters;
  const auto begins = flag("add_bos_token", begins_by_default_);
  if (!begins) return tl::unexpected(begins.error());
  const auto ends = flag("add_eos_token", false);
  if (!ends) return tl::unexpected(ends.error());
  if (*ends) return wrong(kPrefix + "add_eos_token is true, which is not read");
  const auto known = [&](std::uint32_t id) {
    return scored && id < out_.tokens.size() ? std::optional(TokenId(id)) : std::nullopt;
  };
  const auto begin = token("bos_token_id", known(1));
  if (!begin) return tl::unexpected(begin.error());
  if (*begins && !*begin) return wrong("there is no " + kPrefix + "bos_token_id to begin with");
  if (*begins) out_.begin_of_sequence = **begin;

  for (const auto& [key, otherwise] :
       {std::pair{"eos_token_id", known(2)}, std::pair{"eot_token_id", std::optional<TokenId>()}}) {
    const auto end = token(key, otherwise);
    if (!end) return tl::unexpected(end.error());
    if (*end && std::find(out_.eos.begin(), out_.eos.end(), **end) == out_.eos.end()) {
      out_.eos.push_back(**end);
    }
  }
  return {};
}

/// SentencePiece's kind.
Done GgufReader::read_scored() {
  out_.units = BpeDescription::Units::characters;
  const auto scores = file_.numbers(kPrefix + "scores");
  if (!scores) return tl::unexpected(scores.error());
  if (scores->size() != out_.tokens.size()) {
    return wrong(kPrefix + "scores has " + std::to_string(scores->size()) + " scores for " +
                 std::to_string(out_.tokens.size()) + " tokens");
  }
  for (std::size_t i = 0; i < scores->size(); ++i) out_.scores.push_back(scores->number(i));
  out_.byte_fallback = true;
  const auto unknown = token("unknown_token_id", TokenId(0));
  if (!unknown) return tl::unexpected(unknown.error());
  out_.unknown = (*unknown)->value;
  out_.fuse_unknown = true;
  const auto prefix = flag("add_space_prefix", true);
  if (!prefix) return tl::unexpected(prefix.error());
  if (*prefix) out_.stages.normalizer.prepend(std::string(detail::kSpaceMark));
  out_.stages.normalizer.replace(" ", std::string(detail::kSpaceMark));
  begins_by_default_ = true;
  return {};
}

Done GgufReader::read_pre_tokenizer() {
  const auto name = file_.text(kPrefix + "pre");
  if (!name) return tl::unexpected(name.error());
  const auto all = detail::gguf_pre_tokenizers();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& entry) {
    return std::find(entry.names.begin(), entry.names.end(), *name) != entry.names.end();
  });
  if (found == all.end()) {
    return wrong(kPrefix + "pre is " + in_quotes(*name) + ", accepted are " +
                 detail::gguf_pre_tokenizer_names());
  }
  for (const std::string_view text : found->patterns) {
    auto pattern = detail::Pattern::compile(text);
    if (!pattern) return wrong(pattern.error());
    out_.stages.pre_tokenizer.add(std::move(*pattern), detail::PreTokenizer::Cut::isolated);
  }
  if (found->composes) out_.stages.normalizer.compose();
  out_.stages.whole_pieces = found->whole_pieces;
  begins_by_default_ = found->begin_of_sequence;
  return {};
}

/// GPT-2's kind.
Done GgufReader::read_merged() {
  out_.units = BpeDescription::Units::bytes;
  const auto merges = file_.texts(kPrefix + "merges");
  if (!merges) return tl::unexpected(merges.error());
  for (const std::string_view merge : *merges) {
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos) {
      return wrong("the merge " + in_quotes(merge) + " is not two tokens and a space between");
    }
    out_.merges.push_back({merge.substr(0, space), merge.substr(space + 1)});
  }
  return read_pre_tokenizer();
}

LoadedTokenizer GgufReader::read() {
  const auto model = file_.text(kPrefix + "model");
  if (!model) return tl::unexpected(model.error());
  if (*model != "llama" && *model != "gpt2") {
    return wrong(kPrefix + "model is " + in_quotes(*model) + ", accepted are llama, gpt2");
  }
  if (auto done = read_tokens(); !done) return tl::unexpected(done.error());
  if (auto done = *model == "llama" ? read_scored() : read_merged(); !done) {
    return tl::unexpected(done.error());
  }
  if (auto done = read_begin_and_end(); !done) {
    return tl::unexpected(done.error());
  }
  auto built = detail::build_bpe(std::move(out_));
  if (!built) return wrong(std::move(built.error()));
  return std::move(*built);
}

}  // namespace

LoadedTokenizer load_tokenizer(const formats::Gguf& file) { return GgufReader(file).read(); }

}  // namespace forge::text
