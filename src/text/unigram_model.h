// UnigramModel: of all ways to cut a piece into tokens the most likely one (Kudo 2018, "Subword
// Regularization", section 3.2; the search is Viterbi's).
//
//   U n i t   scores   Un -5, it -4, U -8, n -6, i -6, t -6, nit -11
//             Un it = -9 is better than U nit = -19 and all others
//
// A token's score is the logarithm of its probability. From left to right, the best way to each
// character is kept; O(n L) for n bytes and tokens of up to L. A character that is no token has a
// way, too: it costs, as a rule, kUnknownPenalty more than the worst token, and is its bytes, where
// the vocabulary has tokens for them, or else the unknown token. Of two ways that are equal the one
// found first stays, which is the one whose last token begins first.
//
// Sums are rounded as those of whoever made the file: SentencePiece keeps 32-bit floats, and in a
// long text the difference of two ways can be less than their rounding; `tokenizers` and llama.cpp
// keep doubles.
//
// Thread contract: const, any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "byte_trie.h"
#include "piece_model.h"

namespace forge::text::detail {

class UnigramModel final : public PieceModel {
 public:
  static constexpr double kUnknownPenalty = 10;

  struct Options {
    std::vector<double> scores;  ///< by the ids of tokens
    double unknown_score = 0;    ///< of a character that is no token
    std::optional<std::uint32_t> unknown;
    /// Tokens of bytes, if there is one for each.
    std::optional<std::array<std::uint32_t, 256>> bytes;
    bool fuse_unknown = true;  ///< several unknown characters in a row are one token
    bool float_sums = false;
  };

  UnigramModel(ByteTrie trie, Options options)
      : trie_(std::move(trie)), options_(std::move(options)) {}

  std::unique_ptr<Scratch> make_scratch(std::size_t text_bytes) const override;
  std::optional<unsigned char> append_tokens(std::string_view piece, Scratch& scratch,
                                             std::vector<TokenId>& tokens) const override;

 private:
  template <class Score>
  struct Search;

  std::optional<unsigned char> append_unknown(std::string_view text, bool after_unknown,
                                              std::vector<TokenId>& tokens) const;

  ByteTrie trie_;
  Options options_;
};

}  // namespace forge::text::detail
