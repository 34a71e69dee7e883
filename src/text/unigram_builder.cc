#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "alphabet.h"
#include "forge/core/quoted.h"
#include "model_builders.h"
#include "unigram_model.h"
#include "utf8_text.h"

namespace forge::text::detail {
namespace {

/// A token of the model, and not one that stands for a byte alone.
bool is_piece(const TokenizerDescription& in, const TokenEntry& token) {
  const bool is_byte = in.byte_fallback && byte_of_fallback(token.spelling);
  return token.role == TokenEntry::Role::normal && !token.spelling.empty() && !is_byte;
}

std::optional<std::array<std::uint32_t, 256>> bytes_of(const SpellingIndex& index) {
  std::array<std::uint32_t, 256> tokens{};
  for (unsigned value = 0; value < 256; ++value) {
    const auto token = byte_token(static_cast<unsigned char>(value), index);
    if (!token) return std::nullopt;
    tokens[value] = *token;
  }
  return tokens;
}

}  // namespace

tl::expected<BuiltModel, std::string> build_unigram(const TokenizerDescription& in,
                                                    const SpellingIndex& index) {
  UnigramModel::Options options{.scores = in.scores,
                                .unknown_score = std::numeric_limits<double>::infinity(),
                                .unknown = in.unknown,
                                .bytes = in.byte_fallback ? bytes_of(index) : std::nullopt,
                                .fuse_unknown = in.fuse_unknown,
                                .float_sums = in.float_sums};
  std::vector<std::pair<std::string_view, std::uint32_t>> spellings;
  for (std::uint32_t id = 0; id < in.tokens.size(); ++id) {
    const TokenEntry& token = in.tokens[id];
    if (!is_piece(in, token)) continue;
    if (!std::isfinite(in.scores[id])) {
      return tl::unexpected("the score of the token " + in_quotes(token.spelling) +
                            " is no number, or infinite");
    }
    if (token.spelling.size() > kScoredSpellingBytesMax) {
      return tl::unexpected("the token " + in_quotes(token.spelling) + " has " +
                            std::to_string(token.spelling.size()) + " bytes, accepted are " +
                            std::to_string(kScoredSpellingBytesMax));
    }
    options.unknown_score = std::min(options.unknown_score, in.scores[id]);
    spellings.emplace_back(token.spelling, id);
  }
  const double lowest = spellings.empty() ? 0 : options.unknown_score;
  options.unknown_score = in.unknown_score.value_or(lowest - UnigramModel::kUnknownPenalty);
  const bool has_unknown = !options.bytes;
  return BuiltModel{.model = std::make_unique<const UnigramModel>(ByteTrie(std::move(spellings)),
                                                                  std::move(options)),
                    .has_unknown_characters = has_unknown,
                    .spaces_begin_words = false};
}

}  // namespace forge::text::detail
