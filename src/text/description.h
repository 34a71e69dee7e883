// What a file says of a tokenizer, whatever the file's format, and how it becomes one.
//
// All of it comes from a stranger: spellings are unique, merges are of tokens that there are,
// scores are numbers, or there is an error that names the one at fault.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/text/tokenizer.h"
#include "staged_tokenizer.h"

namespace forge::text::detail {

struct TokenEntry {
  enum class Role {
    absent,   ///< an id without a token
    normal,   ///< made by the model of pieces
    added,    ///< found as it is spelt, and text
    control,  ///< found as it is spelt, and no text
    unused,   ///< never made
  };
  std::string_view spelling;  ///< as the file has it
  Role role = Role::absent;
};

struct MergeEntry {
  std::string_view left;
  std::string_view right;
};

/// Borrows its texts from the file.
struct TokenizerDescription {
  /// What tokens of a piece are made by.
  enum class Model {
    merges,         ///< pairs merge by a list of them, the first first
    scored_merges,  ///< pairs merge that together are spelt like a token, the highest score first
    unigram,        ///< the tokens whose scores have the highest sum
  };
  /// What tokens are spelt with.
  enum class Units { bytes, characters };

  Model model = Model::merges;
  Units units = Units::bytes;
  std::vector<TokenEntry> tokens;  ///< by their ids
  /// For added tokens that are found after the normalizer: the text as which each is found, and
  /// which it stands for.
  std::map<std::uint32_t, std::string> normalized;
  std::vector<MergeEntry> merges;  ///< by their ranks, for Model::merges
  std::vector<double> scores;      ///< [tokens], for the other models
  /// Of Model::unigram: the score of a character that is no token, where it does not follow from
  /// the lowest of the others; and whether sums are rounded as SentencePiece's are.
  std::optional<double> unknown_score;
  bool float_sums = false;
  bool byte_fallback = false;  ///< <0x00> to <0xFF> stand for bytes; for Units::characters
  bool whole_pieces = false;   ///< a piece that is a token is not merged
  bool whole_lines = false;    ///< nor is one of line ends that is a token
  std::optional<std::uint32_t> unknown;
  bool fuse_unknown = false;
  SpecialTokens special;
  /// The file gives added tokens, normalizer, marks and pre-tokenizer; build_tokenizer() makes the
  /// rest.
  TokenizerStages stages;
};

/// The longest spelling in a vocabulary with scores.
inline constexpr std::size_t kScoredSpellingBytesMax = 512;

/// Errors: a sentence. Requires: ids of the description are below the number of tokens; spellings
/// are valid UTF-8; a unigram model has a score for each token.
tl::expected<std::unique_ptr<const Tokenizer>, std::string> build_tokenizer(
    TokenizerDescription description);

}  // namespace forge::text::detail
