#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "bpe_model.h"
#include "forge/core/quoted.h"
#include "model_builders.h"
#include "utf8_text.h"

namespace forge::text::detail {
namespace {

using Model = TokenizerDescription::Model;
using Units = TokenizerDescription::Units;
using Done = tl::expected<void, std::string>;

std::string merged_text(const MergeEntry& merge) {
  return std::string(merge.left) + std::string(merge.right);
}

class Builder {
 public:
  Builder(const TokenizerDescription& in, const SpellingIndex& index) : in_(in), index_(index) {}

  tl::expected<BuiltModel, std::string> build() {
    if (in_.units == Units::bytes) {
      make_bytes();
    } else {
      make_characters();
    }
    if (in_.unknown) model_->alphabet.set_unknown(*in_.unknown, in_.fuse_unknown);
    add_whole_pieces();
    const Done done = in_.model == Model::merges ? add_merges() : add_scored_merges();
    if (!done) return tl::unexpected(done.error());
    // A space that is no symbol is unknown, or bytes, and may be fused with what is before it.
    const bool space_is_symbol = in_.units == Units::characters &&
                                 model_->alphabet.has_character(first_code_point(kSpaceMark));
    return BuiltModel{.model = std::move(model_),
                      .has_unknown_characters = has_unknown_characters_,
                      .spaces_begin_words = spaces_begin_words_ && space_is_symbol};
  }

 private:
  void make_bytes();
  void make_characters();
  void add_whole_pieces();
  Done add_merges();
  Done add_scored_merges();
  Done add_splits(std::uint32_t token, std::uint32_t rank);
  /// After a merge to `spelling`: is a space within it, with something else before?
  void note_merged(std::string_view spelling);

  const TokenizerDescription& in_;
  const SpellingIndex& index_;
  std::unique_ptr<BpeModel> model_ = std::make_unique<BpeModel>();
  bool spaces_begin_words_ = true;
  bool has_unknown_characters_ = false;
};

void Builder::make_bytes() {
  for (unsigned value = 0; value < 256; ++value) {
    const auto byte = static_cast<unsigned char>(value);
    const auto token = index_.find(spelling_of_byte(byte));
    if (token) model_->alphabet.set_byte(byte, *token);
    const bool in_utf8 = byte != 0xC0 && byte != 0xC1 && byte < 0xF5;
    has_unknown_characters_ = has_unknown_characters_ || (in_utf8 && !token);
  }
}

void Builder::make_characters() {
  Alphabet& alphabet = model_->alphabet;
  alphabet.use_characters();
  for (unsigned value = 0; value < 256; ++value) {
    const auto byte = static_cast<unsigned char>(value);
    const auto token = in_.byte_fallback ? byte_token(byte, index_) : std::nullopt;
    if (token) alphabet.set_byte(byte, *token);
    has_unknown_characters_ = has_unknown_characters_ || !token;
  }
  for (std::uint32_t id = 0; id < in_.tokens.size(); ++id) {
    const std::string_view spelling = in_.tokens[id].spelling;
    if (!is_word(in_.tokens[id]) || spelling.empty() ||
        character_bytes(spelling[0]) != spelling.size()) {
      continue;
    }
    alphabet.set_character(first_code_point(spelling), id);
  }
}

void Builder::add_whole_pieces() {
  for (std::uint32_t id = 0; id < in_.tokens.size(); ++id) {
    const TokenEntry& token = in_.tokens[id];
    const std::string spelling(token.spelling);
    const bool is_whole =
        in_.whole_pieces ||
        (in_.whole_lines && spelling.find_first_not_of('\n') == std::string::npos);
    if (token.role != TokenEntry::Role::normal || !is_whole) continue;
    const bool bytes = in_.units == Units::bytes;
    model_->whole_pieces.emplace(bytes ? bytes_of_spelling(spelling).value_or(spelling) : spelling,
                                 id);
  }
}

void Builder::note_merged(std::string_view spelling) {
  for (std::size_t at = 1; at < spelling.size(); ++at) {
    if (spelling.substr(at).starts_with(kSpaceMark) &&
        !spelling.substr(0, at).ends_with(kSpaceMark)) {
      spaces_begin_words_ = false;
    }
  }
}

Done Builder::add_merges() {
  for (std::size_t rank = 0; rank < in_.merges.size(); ++rank) {
    const MergeEntry& merge = in_.merges[rank];
    const std::string text = merged_text(merge);
    const auto left = index_.find(merge.left);
    const auto right = index_.find(merge.right);
    const auto merged = index_.find(text);
    const std::string name = "merge " + std::to_string(rank) + " of " + in_quotes(merge.left) +
                             " and " + in_quotes(merge.right);
    if (!left || !right || !merged) {
      const std::string_view missing = !left ? merge.left : !right ? merge.right : text;
      return tl::unexpected(name + " names " + in_quotes(missing) + ", which is no token");
    }
    if (!model_->merges.add({*left, *right}, *merged, static_cast<std::uint32_t>(rank))) {
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
    const auto left = index_.find(spelling.substr(0, at));
    const auto right = index_.find(spelling.substr(at));
    if (!left || !right || !is_word(in_.tokens[*left]) || !is_word(in_.tokens[*right])) continue;
    model_->merges.add({*left, *right}, token, rank);
    found = true;
  }
  if (found) note_merged(spelling);
  return {};
}

Done Builder::add_scored_merges() {
  std::vector<double> ranks = in_.scores;
  if (std::any_of(ranks.begin(), ranks.end(), [](double score) { return std::isnan(score); })) {
    return tl::unexpected(std::string("a score is not a number"));
  }
  std::sort(ranks.begin(), ranks.end(), std::greater<>());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (std::uint32_t id = 0; id < in_.tokens.size(); ++id) {
    if (!is_word(in_.tokens[id])) continue;
    const auto rank =
        std::lower_bound(ranks.begin(), ranks.end(), in_.scores[id], std::greater<>());
    if (auto done = add_splits(id, static_cast<std::uint32_t>(rank - ranks.begin())); !done) {
      return done;
    }
  }
  return {};
}

}  // namespace

tl::expected<BuiltModel, std::string> build_bpe(const TokenizerDescription& description,
                                                const SpellingIndex& index) {
  return Builder(description, index).build();
}

}  // namespace forge::text::detail
