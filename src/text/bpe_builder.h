// What a file says of a byte-pair encoding, whatever the file's format, and how it becomes a
// tokenizer.
//
// All of it comes from a stranger: spellings are unique, merges are of tokens that there are, and
// every byte or character of a text has tokens, or there is an error that names the one at fault.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "bpe_tokenizer.h"
#include "forge/text/tokenizer.h"

namespace forge::text::detail {

struct TokenEntry {
  enum class Role {
    absent,   ///< an id without a token
    normal,   ///< made by merges
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
struct BpeDescription {
  enum class Units { bytes, characters };
  Units units = Units::bytes;
  std::vector<TokenEntry> tokens;  ///< by their ids
  /// For added tokens that are found after the normalizer: the text as which each is found, and
  /// which it stands for.
  std::map<std::uint32_t, std::string> normalized;
  std::vector<MergeEntry> merges;  ///< by their ranks
  /// In place of merges, a score for each token: two neighbours merge if together they are spelt
  /// like a token, those of the highest score first.
  std::vector<double> scores;
  bool byte_fallback = false;  ///< <0x00> to <0xFF> stand for bytes; for Units::characters
  std::optional<std::uint32_t> unknown;
  bool fuse_unknown = false;
  std::optional<TokenId> begin_of_sequence;
  std::vector<TokenId> eos;
  /// The file gives added tokens, normalizer, marks, pre-tokenizer and whole_pieces; build_bpe()
  /// makes the rest.
  BpeStages stages;
};

/// The longest spelling in a vocabulary with scores.
inline constexpr std::size_t kScoredSpellingBytesMax = 512;

/// Errors: a sentence. Requires: ids of the description are below the number of tokens; spellings
/// are valid UTF-8.
tl::expected<std::unique_ptr<const Tokenizer>, std::string> build_bpe(BpeDescription description);

}  // namespace forge::text::detail
