// Runs a TinyTransformer on one or several sequences in tests: hands out blocks, builds
// batches, returns logits row by row.
#pragma once

#include <numeric>
#include <vector>

#include "forge/reference/tiny_transformer.h"
#include "model/pieces.h"

namespace forge::testing {

class ModelRunner {
 public:
  ModelRunner(const reference::TinyTransformer& model, std::uint32_t num_blocks,
              std::uint32_t block_size)
      : model_(model),
        pool_(kv_shape(model.config()), num_blocks, block_size),
        scratch_(model.config()) {}

  /// Adds a sequence that holds `blocks`; returns its number.
  std::uint32_t add(std::vector<TokenId> tokens, std::vector<std::uint32_t> blocks) {
    return sequences_.add(std::move(tokens), std::move(blocks));
  }

  /// One forward pass. Returns the logits of every row, piece by piece.
  std::vector<Logits> run(const std::vector<Piece>& pieces, int layers = 0) {
    return run_pieces(pieces, sequences_, model_.config().vocabulary_size,
                      [&](const model::ForwardBatch& batch, std::span<float> logits) {
                        model_.forward(batch, pool_, scratch_, logits,
                                       layers == 0 ? model_.config().layers : layers);
                      });
  }

  model::KvPool& pool() { return pool_; }

 private:
  const reference::TinyTransformer& model_;
  model::KvPool pool_;
  reference::Scratch scratch_;
  Sequences sequences_;
};

inline std::vector<std::uint32_t> blocks_from(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> blocks(count);
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

}  // namespace forge::testing
