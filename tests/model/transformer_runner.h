// Runs a Transformer on one or several sequences in tests: hands out blocks, builds batches,
// returns logits row by row.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "forge/checkpoint/checkpoint.h"
#include "forge/model/transformer.h"
#include "model/pieces.h"

namespace forge::testing {

/// The checkpoint at `path`. Throws its error.
checkpoint::Checkpoint opened(const std::string& path);

/// A model of tests/golden/models, or of any path, ready to run.
class LoadedModel {
 public:
  explicit LoadedModel(const std::string& path);

  const model::Transformer& transformer() const { return transformer_; }
  const model::ModelConfig& config() const { return checkpoint_.config(); }
  const model::StoredModel& stored() const { return checkpoint_.model(); }

 private:
  checkpoint::Checkpoint checkpoint_;
  linear::ThreadPool threads_{1};
  model::Transformer transformer_;
};

/// How a model is run; nothing of it may show in the logits.
struct RunSetup {
  std::uint32_t num_blocks = 16;
  std::uint32_t block_size = 16;
  int threads = 1;
};

class TransformerRunner {
 public:
  TransformerRunner(const model::Transformer& model, RunSetup setup);

  /// Adds a sequence; returns its number. Its blocks are taken from the free ones here and there.
  std::uint32_t add(std::vector<TokenId> tokens, std::uint32_t slots);

  /// Adds a token to a sequence.
  void append(std::uint32_t sequence, TokenId token) {
    sequences_.tokens[sequence].push_back(token);
  }

  /// One forward pass. Returns the logits of every row, piece by piece.
  std::vector<Logits> run(const std::vector<Piece>& pieces, int layers = 0);

  model::TransformerScratch& scratch() { return scratch_; }
  model::KvPool& pool() { return pool_; }
  const std::vector<std::uint32_t>& table(std::uint32_t sequence) const {
    return sequences_.tables[sequence];
  }

 private:
  const model::Transformer& model_;
  linear::ThreadPool threads_;
  model::KvPool pool_;
  model::TransformerScratch scratch_;
  std::vector<std::uint32_t> free_blocks_;
  Sequences sequences_;
};

/// Logits of every position of `tokens`, run alone in one pass from an empty cache.
std::vector<Logits> logits_alone(const model::Transformer& model,
                                 const std::vector<TokenId>& tokens);

/// The next `count` tokens of largest logit; the logits that each was chosen from, where wanted.
std::vector<TokenId> greedy(const model::Transformer& model, std::vector<TokenId> tokens,
                            std::uint32_t count, std::vector<Logits>* rows = nullptr);

/// The index of the largest, the lowest of equal ones.
std::uint32_t argmax(const Logits& logits);

/// `text` as the name of a test: other characters than letters and digits become '_'.
std::string identifier(std::string text);

}  // namespace forge::testing
