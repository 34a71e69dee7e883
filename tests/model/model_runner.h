// Runs a TinyTransformer on one or several sequences in tests: hands out blocks, builds
// batches, returns logits row by row.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "forge/model/tiny_transformer.h"

namespace forge::testing {

using Logits = std::vector<float>;

/// Rows [first, first + count) of sequence `sequence`.
struct Piece {
  std::uint32_t sequence = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class ModelRunner {
 public:
  ModelRunner(const TinyTransformer& model, std::uint32_t num_blocks, std::uint32_t block_size)
      : model_(model),
        pool_(kv_shape(model.config()), num_blocks, block_size),
        scratch_(model.config()) {}

  /// Adds a sequence that holds `blocks`; returns its number.
  std::uint32_t add(std::vector<TokenId> tokens, std::vector<std::uint32_t> blocks) {
    tokens_.push_back(std::move(tokens));
    tables_.push_back(std::move(blocks));
    return static_cast<std::uint32_t>(tokens_.size() - 1);
  }

  /// One forward pass. Returns the logits of every row, piece by piece.
  std::vector<Logits> run(const std::vector<Piece>& pieces, int layers = 0) {
    std::vector<TokenId> tokens;
    std::vector<std::uint32_t> positions, sequences, rows;
    for (const Piece& piece : pieces) {
      for (std::uint32_t p = piece.first; p < piece.first + piece.count; ++p) {
        rows.push_back(static_cast<std::uint32_t>(tokens.size()));
        tokens.push_back(tokens_[piece.sequence][p]);
        positions.push_back(p);
        sequences.push_back(piece.sequence);
      }
    }
    const std::vector<std::span<const std::uint32_t>> tables(tables_.begin(), tables_.end());
    const auto width = static_cast<std::size_t>(model_.config().vocabulary_size);
    std::vector<float> flat(rows.size() * width);
    model_.forward({tokens, positions, sequences, tables, rows}, pool_, scratch_, flat,
                   layers == 0 ? model_.config().layers : layers);
    std::vector<Logits> out;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(row * width);
      out.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(width));
    }
    return out;
  }

  KvPool& pool() { return pool_; }

 private:
  const TinyTransformer& model_;
  KvPool pool_;
  Scratch scratch_;
  std::vector<std::vector<TokenId>> tokens_;
  std::vector<std::vector<std::uint32_t>> tables_;
};

/// Tokens that look like a text: a linear congruential walk over the vocabulary.
inline std::vector<TokenId> some_tokens(std::size_t count, std::uint32_t seed,
                                        std::uint32_t vocabulary = 320) {
  std::vector<TokenId> tokens;
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    tokens.emplace_back((state >> 8) % vocabulary);
  }
  return tokens;
}

inline std::vector<std::uint32_t> blocks_from(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> blocks(count);
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

}  // namespace forge::testing
