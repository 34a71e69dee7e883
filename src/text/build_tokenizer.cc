#include <algorithm>
#include <utility>

#include "alphabet.h"
#include "description.h"
#include "forge/core/quoted.h"
#include "model_builders.h"
#include "utf8_text.h"

namespace forge::text::detail {
namespace {

using Role = TokenEntry::Role;
using Model = TokenizerDescription::Model;
using Units = TokenizerDescription::Units;

std::string with_spaces(std::string_view spelling) {
  std::string text;
  for (std::size_t at = 0; at < spelling.size();) {
    const bool is_mark = spelling.substr(at).starts_with(kSpaceMark);
    text += is_mark ? std::string_view(" ") : spelling.substr(at, 1);
    at += is_mark ? kSpaceMark.size() : 1;
  }
  return text;
}

/// What of a tokenizer does not depend on its model.
class VocabularyBuilder {
 public:
  explicit VocabularyBuilder(const TokenizerDescription& in) : in_(in) {}

  StagedVocabulary build(bool has_unknown_characters) const {
    StagedVocabulary vocabulary{.tokens = {}, .special = in_.special, .token_bytes_max = {}};
    vocabulary.tokens.reserve(in_.tokens.size());
    for (std::uint32_t id = 0; id < in_.tokens.size(); ++id) {
      const TokenEntry& token = in_.tokens[id];
      vocabulary.tokens.push_back(
          {.spelling = std::string(token.spelling),
           .bytes = bytes_of(id),
           .control = token.role == Role::control || token.role == Role::absent});
    }
    vocabulary.token_bytes_max = token_bytes_max(vocabulary.tokens, has_unknown_characters);
    return vocabulary;
  }

 private:
  std::string_view found_as(std::uint32_t id) const;
  std::string bytes_of(std::uint32_t id) const;
  std::size_t rewritten_bytes_max(std::uint32_t id, std::string_view bytes) const;
  std::optional<std::size_t> token_bytes_max(const std::vector<VocabularyToken>& tokens,
                                             bool has_unknown_characters) const;

  const TokenizerDescription& in_;
};

/// What a token that is found as it is spelt is found as.
std::string_view VocabularyBuilder::found_as(std::uint32_t id) const {
  const auto normalized = in_.normalized.find(id);
  return normalized == in_.normalized.end() ? in_.tokens[id].spelling : normalized->second;
}

std::string VocabularyBuilder::bytes_of(std::uint32_t id) const {
  const TokenEntry& token = in_.tokens[id];
  if (token.role == Role::absent || token.role == Role::control) return {};
  if (in_.units == Units::bytes) {
    // An added token stands for what it is found as, and one with a character that spells no byte
    // for its spelling.
    if (token.role == Role::added) return std::string(found_as(id));
    return bytes_of_spelling(token.spelling).value_or(std::string(token.spelling));
  }
  if (in_.byte_fallback) {
    if (const auto byte = byte_of_fallback(token.spelling)) {
      return std::string(1, static_cast<char>(*byte));
    }
  }
  return with_spaces(found_as(id));
}

/// The most bytes that the token stands for of a text as the normalizer and the marks left it,
/// where all characters are known. It is found as it is spelt, or its pieces joined are what spells
/// it: each character of the spelling a byte, or itself.
std::size_t VocabularyBuilder::rewritten_bytes_max(std::uint32_t id, std::string_view bytes) const {
  const TokenEntry& token = in_.tokens[id];
  if (token.role == Role::absent || token.role == Role::unused) return 0;
  if (token.role == Role::normal && in_.units == Units::bytes) return bytes.size();
  return std::max(token.spelling.size(), found_as(id).size());
}

std::optional<std::size_t> VocabularyBuilder::token_bytes_max(
    const std::vector<VocabularyToken>& tokens, bool has_unknown_characters) const {
  const TokenizerStages& stages = in_.stages;
  const bool takes_space = stages.added.take_space() || stages.added_normalized.take_space();
  if (takes_space || stages.pre_tokenizer.drops_text()) return std::nullopt;
  const auto normalized = stages.normalizer.bytes_for_one();
  const auto marked = stages.marks.bytes_for_one();
  if (!normalized || !marked) return std::nullopt;
  const bool has_unknown = in_.unknown && has_unknown_characters;
  if (has_unknown && in_.fuse_unknown) return std::nullopt;
  std::size_t longest = 1;
  for (std::uint32_t id = 0; id < tokens.size(); ++id) {
    longest = std::max(longest, rewritten_bytes_max(id, tokens[id].bytes));
  }
  // The unknown token has a short spelling, may be part of merges, and stands for any character.
  const std::size_t character = has_unknown ? kCharacterBytesMax : 1;
  return longest * character * *normalized * *marked;
}

/// Where no token joins a space to what is before it, a text can be cut there without changing its
/// tokens, and short pieces are encoded faster than one long one.
std::optional<std::string> cut_before_spaces(PreTokenizer& pre_tokenizer) {
  auto spaces = Pattern::compile(std::string(kSpaceMark) + "+");
  if (!spaces) return std::move(spaces.error());
  pre_tokenizer.add(std::move(*spaces), PreTokenizer::Cut::before);
  return std::nullopt;
}

}  // namespace

tl::expected<SpellingIndex, std::string> SpellingIndex::of(
    const TokenizerDescription& description) {
  SpellingIndex index;
  index.ids_.reserve(description.tokens.size());
  for (std::size_t id = 0; id < description.tokens.size(); ++id) {
    const TokenEntry& token = description.tokens[id];
    if (token.role == Role::absent || token.role == Role::unused) continue;
    const auto [at, is_new] = index.ids_.emplace(token.spelling, static_cast<std::uint32_t>(id));
    if (!is_new) {
      return tl::unexpected("the tokens " + std::to_string(at->second) + " and " +
                            std::to_string(id) + " are both spelt " + in_quotes(token.spelling));
    }
  }
  return index;
}

std::optional<std::uint32_t> byte_token(unsigned char byte, const SpellingIndex& index) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return index.find(std::string("<0x") + kDigits[byte / 16U] + kDigits[byte % 16U] + '>');
}

tl::expected<std::unique_ptr<const Tokenizer>, std::string> build_tokenizer(
    TokenizerDescription description) {
  const auto index = SpellingIndex::of(description);
  if (!index) return tl::unexpected(index.error());
  auto built = description.model == Model::unigram ? build_unigram(description, *index)
                                                   : build_bpe(description, *index);
  if (!built) return tl::unexpected(std::move(built.error()));
  auto vocabulary = VocabularyBuilder(description).build(built->has_unknown_characters);
  TokenizerStages& stages = description.stages;
  stages.model = std::move(built->model);
  if (built->spaces_begin_words) {
    if (auto why = cut_before_spaces(stages.pre_tokenizer)) return tl::unexpected(*std::move(why));
  }
  return std::make_unique<const StagedTokenizer>(std::move(vocabulary), std::move(stages));
}

}  // namespace forge::text::detail
