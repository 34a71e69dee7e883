#include "bpe_builder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <utility>

#include "forge/core/quoted.h"
#include "utf8_text.h"

namespace forge::text::detail {
namespace {

using Role = TokenEntry::Role;
using Units = BpeDescription::Units;
using Done = tl::expected<void, std::string>;

std::string merged_text(const MergeEntry& merge) {
  return std::string(merge.left) + std::string(merge.right);
}

std::string with_spaces(std::string_view spelling) {
  std::string text;
  for (std::size_t at = 0; at < spelling.size();) {
    const bool is_mark = spelling.substr(at).starts_with(kSpaceMark);
    text += is_mark ? std::string_view(" ") : spelling.substr(at, 1);
    at += is_mark ? kSpaceMark.size() : 1;
  }
  return text;
}

class Builder {
 public:
  explicit Builder(BpeDescription description) : in_(std::move(description)) {}

  Done build() {
    if (auto done = index_spellings(); !done) return done;
    make_tokens();
    const bool bytes = in_.units == Units::bytes;
    if (auto done = bytes ? make_byte_alphabet() : make_characters(); !done) return done;
    if (auto done = in_.scores.empty() ? make_merges() : make_scored_merges(); !done) return done;
    return cut_before_spaces();
  }

  std::unique_ptr<const Tokenizer> result() {
    vocabulary_.token_bytes_max = token_bytes_max();
    vocabulary_.begin_of_sequence = in_.begin_of_sequence;
    vocabulary_.eos = std::move(in_.eos);
    return std::make_unique<BpeTokenizer>(std::move(vocabulary_), std::move(in_.stages));
  }

 private:
  Done index_spellings();
  void make_tokens();
  std::string_view found_as(std::uint32_t id) const;
  std::string bytes_of(std::uint32_t id) const;
  std::size_t rewritten_bytes_max(std::uint32_t id) const;
  std::optional<std::size_t> token_bytes_max() const;
  Done make_byte_alphabet();
  Done make_characters();
  Done make_merges();
  Done make_scored_merges();
  Done add_splits(std::uint32_t token, std::uint32_t rank);
  Done cut_before_spaces();

  std::optional<std::uint32_t> id_of(std::string_view spelling) const {
    const auto found = ids_.find(spelling);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  bool is_word(std::uint32_t token) const {
    return in_.tokens[token].role == Role::normal || in_.tokens[token].role == Role::added;
  }
  /// After a merge to `spelling`: is a space within it, with something else before?
  void note_merged(std::string_view spelling);

  BpeDescription in_;
  BpeVocabulary vocabulary_;
  std::unordered_map<std::string_view, std::uint32_t> ids_;
  bool spaces_begin_words_ = true;
  bool has_unknown_characters_ = false;
};

Done Builder::index_spellings() {
  ids_.reserve(in_.tokens.size());
  for (std::size_t id = 0; id < in_.tokens.size(); ++id) {
    const TokenEntry& token = in_.tokens[id];
    if (token.role == Role::absent || token.role == Role::unused) continue;
    const auto [at, is_new] = ids_.emplace(token.spelling, static_cast<std::uint32_t>(id));
    if (!is_new) {
      return tl::unexpected("the tokens " + std::to_string(at->second) + " and " +
                            std::to_string(id) + " are both spelt " + in_quotes(token.spelling));
    }
  }
  return {};
}

/// What a token that is found as it is spelt is found as.
std::string_view Builder::found_as(std::uint32_t id) const {
  const auto normalized = in_.normalized.find(id);
  return normalized == in_.normalized.end() ? in_.tokens[id].spelling : normalized->second;
}

std::string Builder::bytes_of(std::uint32_t id) const {
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
/// where all characters are known. It is found as it is spelt, or its merges joined what spells it:
/// each character of the spelling a byte, or itself.
std::size_t Builder::rewritten_bytes_max(std::uint32_t id) const {
  const TokenEntry& token = in_.tokens[id];
  if (token.role == Role::absent || token.role == Role::unused) return 0;
  if (token.role == Role::normal && in_.units == Units::bytes) {
    return vocabulary_.tokens[id].bytes.size();
  }
  return std::max(token.spelling.size(), found_as(id).size());
}

std::optional<std::size_t> Builder::token_bytes_max() const {
  const BpeStages& stages = in_.stages;
  const bool takes_space = stages.added.take_space() || stages.added_normalized.take_space();
  if (takes_space || stages.pre_tokenizer.drops_text()) return std::nullopt;
  const auto normalized = stages.normalizer.bytes_for_one();
  const auto marked = stages.marks.bytes_for_one();
  if (!normalized || !marked) return std::nullopt;
  if (has_unknown_characters_ && in_.fuse_unknown) return std::nullopt;
  std::size_t longest = 1;
  for (std::uint32_t id = 0; id < in_.tokens.size(); ++id) {
    longest = std::max(longest, rewritten_bytes_max(id));
  }
  // The unknown token has a short spelling, may be part of merges, and stands for any character.
  const std::size_t character = has_unknown_characters_ ? kCharacterBytesMax : 1;
  return longest * character * *normalized * *marked;
}

void Builder::make_tokens() {
  vocabulary_.tokens.reserve(in_.tokens.size());
  for (std::uint32_t id = 0; id < in_.tokens.size(); ++id) {
    const TokenEntry& token = in_.tokens[id];
    const bool control = token.role == Role::control || token.role == Role::absent;
    vocabulary_.tokens.push_back({bytes_of(id), control});
    if (in_.stages.whole_pieces && token.role == Role::normal) {
      vocabulary_.pieces.emplace(vocabulary_.tokens.back().bytes, id);
    }
  }
}

Done Builder::make_byte_alphabet() {
  for (unsigned value = 0; value < 256; ++value) {
    const auto byte = static_cast<unsigned char>(value);
    const auto token = id_of(spelling_of_byte(byte));
    const bool in_utf8 = byte != 0xC0 && byte != 0xC1 && byte < 0xF5;
    if (!token && in_utf8) {
      return tl::unexpected("no token for the byte " + std::to_string(value) + ", spelt " +
                            in_quotes(spelling_of_byte(byte)));
    }
    if (token) in_.stages.alphabet.set_byte(byte, *token);
  }
  return {};
}

Done Builder::make_characters() {
  Alphabet& alphabet = in_.stages.alphabet;
  alphabet.use_characters();
  bool all_bytes = in_.byte_fallback;
  for (unsigned value = 0; value < 256 && in_.byte_fallback; ++value) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const std::string spelling =
        std::string("<0x") + kDigits[value / 16] + kDigits[value % 16] + '>';
    const auto token = id_of(spelling);
    if (token) alphabet.set_byte(static_cast<unsigned char>(value), *token);
    all_bytes = all_bytes && token;
  }
  if (!all_bytes && !in_.unknown) {
    return tl::unexpected(
        std::string("neither tokens <0x00> to <0xFF> for the bytes of characters outside the "
                    "vocabulary, nor an unknown token"));
  }
  has_unknown_characters_ = !all_bytes;
  if (in_.unknown) alphabet.set_unknown(*in_.unknown, in_.fuse_unknown);
  for (std::uint32_t id = 0; id < in_.tokens.size(); ++id) {
    const std::string_view spelling = in_.tokens[id].spelling;
    if (!is_word(id) || spelling.empty() || character_bytes(spelling[0]) != spelling.size()) {
      continue;
    }
    alphabet.set_character(first_code_point(spelling), id);
  }
  return {};
}

void Builder::note_merged(std::string_view spelling) {
  for (std::size_t at = 1; at < spelling.size(); ++at) {
    if (spelling.substr(at).starts_with(kSpaceMark) &&
        !spelling.substr(0, at).ends_with(kSpaceMark)) {
      spaces_begin_words_ = false;
    }
  }
}

Done Builder::make_merges() {
  for (std::size_t rank = 0; rank < in_.merges.size(); ++rank) {
    const MergeEntry& merge = in_.merges[rank];
    const std::string text = merged_text(merge);
    const auto left = id_of(merge.left);
    const auto right = id_of(merge.right);
    const auto merged = id_of(text);
    const std::string name = "merge " + std::to_string(rank) + " of " + in_quotes(merge.left) +
                             " and " + in_quotes(merge.right);
    if (!left || !right || !merged) {
      const std::string_view missing = !left ? merge.left : !right ? merge.right : text;
      return tl::unexpected(name + " names " + in_quotes(missing) + ", which is no token");
    }
    if (!in_.stages.merges.add({*left, *right}, *merged, static_cast<std::uint32_t>(rank))) {
      return tl::unexpected(name + " is there twice");
    }
    note_merged(text);
  }
  return {};
}

/// All pairs of tokens whose spellings together are that of `token`.
Done Builder::add_splits(std::uint32_t token, std::uint32_t rank) {
  const std::string_view spelling = in_.tokens[token].spelling;
  if (spelling.size() > kScoredSpellingBytesMax) {
    return tl::unexpected("the token " + in_quotes(spelling) + " has " +
                          std::to_string(spelling.size()) + " bytes, accepted are " +
                          std::to_string(kScoredSpellingBytesMax));
  }
  bool found = false;
  for (std::size_t at = 0; at < spelling.size(); at += character_bytes(spelling[at])) {
    if (at == 0) continue;
    const auto left = id_of(spelling.substr(0, at));
    const auto right = id_of(spelling.substr(at));
    if (!left || !right || !is_word(*left) || !is_word(*right)) continue;
    in_.stages.merges.add({*left, *right}, token, rank);
    found = true;
  }
  if (found) note_merged(spelling);
  return {};
}

Done Builder::make_scored_merges() {
  std::vector<double> ranks = in_.scores;
  if (std::any_of(ranks.begin(), ranks.end(), [](double score) { return std::isnan(score); })) {
    return tl::unexpected(std::string("a score is not a number"));
  }
  std::sort(ranks.begin(), ranks.end(), std::greater<>());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (std::uint32_t id = 0; id < in_.tokens.size(); ++id) {
    if (!is_word(id)) continue;
    const auto rank =
        std::lower_bound(ranks.begin(), ranks.end(), in_.scores[id], std::greater<>());
    if (auto done = add_splits(id, static_cast<std::uint32_t>(rank - ranks.begin())); !done) {
      return done;
    }
  }
  return {};
}

/// Where no merge joins a space to what is before it, a text can be cut there without changing its
/// tokens, and short pieces are merged faster than one long one.
Done Builder::cut_before_spaces() {
  const bool is_symbol = in_.stages.alphabet.has_character(first_code_point(kSpaceMark));
  if (in_.units != Units::characters || !spaces_begin_words_ || !is_symbol) return {};
  auto spaces = Pattern::compile(std::string(kSpaceMark) + "+");
  if (!spaces) return tl::unexpected(std::move(spaces.error()));
  in_.stages.pre_tokenizer.add(std::move(*spaces), PreTokenizer::Cut::before);
  return {};
}

}  // namespace

tl::expected<std::unique_ptr<const Tokenizer>, std::string> build_bpe(BpeDescription description) {
  Builder builder(std::move(description));
  if (auto done = builder.build(); !done) return tl::unexpected(std::move(done.error()));
  return builder.result();
}

}  // namespace forge::text::detail
