// What runners of models in tests share: which rows of which sequences a forward pass takes, and
// their logits row by row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/model/forward_batch.h"

namespace forge::testing {

using Logits = std::vector<float>;

/// Rows [first, first + count) of sequence `sequence`.
struct Piece {
  std::uint32_t sequence = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Sequences of a model under test and the blocks of their KV.
struct Sequences {
  std::vector<std::vector<TokenId>> tokens;
  std::vector<std::vector<std::uint32_t>> tables;

  /// Returns: the number of the new one.
  std::uint32_t add(std::vector<TokenId> text, std::vector<std::uint32_t> blocks) {
    tokens.push_back(std::move(text));
    tables.push_back(std::move(blocks));
    return static_cast<std::uint32_t>(tokens.size() - 1);
  }
};

/// One pass of `forward(batch, logits)`. Returns the logits of every row, piece by piece.
template <class Forward>
std::vector<Logits> run_pieces(const std::vector<Piece>& pieces, const Sequences& sequences,
                               int vocabulary, const Forward& forward) {
  std::vector<TokenId> tokens;
  std::vector<std::uint32_t> positions, of_sequences, rows;
  for (const Piece& piece : pieces) {
    for (std::uint32_t p = piece.first; p < piece.first + piece.count; ++p) {
      rows.push_back(static_cast<std::uint32_t>(tokens.size()));
      tokens.push_back(sequences.tokens[piece.sequence][p]);
      positions.push_back(p);
      of_sequences.push_back(piece.sequence);
    }
  }
  const std::vector<std::span<const std::uint32_t>> tables(sequences.tables.begin(),
                                                           sequences.tables.end());
  const auto width = static_cast<std::size_t>(vocabulary);
  std::vector<float> flat(rows.size() * width);
  forward(model::ForwardBatch{tokens, positions, of_sequences, tables, rows}, flat);
  std::vector<Logits> out;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(row * width);
    out.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return out;
}

/// Tokens that look like a text: a linear congruential walk over the vocabulary.
inline std::vector<TokenId> some_tokens(std::size_t count, std::uint32_t seed,
                                        int vocabulary = 320) {
  std::vector<TokenId> tokens;
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    tokens.emplace_back((state >> 8) % static_cast<std::uint32_t>(vocabulary));
  }
  return tokens;
}

}  // namespace forge::testing
