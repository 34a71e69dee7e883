// PieceModel: what makes tokens of a piece of text, the last stage of a tokenizer
// (staged_tokenizer.h).
//
//   " tokens"  --BpeModel-->      merges neighbours, the best pair first (bpe_model.h)
//   " tokens"  --UnigramModel-->  the most likely of all ways to cut it (unigram_model.h)
//
// Thread contract: const, any number of threads, each with a Scratch of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "forge/core/ids.h"

namespace forge::text::detail {

class PieceModel {
 public:
  /// What one call of Tokenizer::encode() keeps from piece to piece: memory, and tokens of words
  /// that come again.
  class Scratch {
   public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    virtual ~Scratch() = default;
  };

  PieceModel() = default;
  PieceModel(const PieceModel&) = delete;
  PieceModel& operator=(const PieceModel&) = delete;
  virtual ~PieceModel() = default;

  /// For a text of `text_bytes`.
  virtual std::unique_ptr<Scratch> make_scratch(std::size_t text_bytes) const = 0;

  /// Appends the tokens of `piece`, which is valid UTF-8 and not empty. Returns: a byte for which
  /// there is no token, if the piece has one; `tokens` are then of no use.
  virtual std::optional<unsigned char> append_tokens(std::string_view piece, Scratch& scratch,
                                                     std::vector<TokenId>& tokens) const = 0;
};

}  // namespace forge::text::detail
