// SeededModel: the built-in model as every executor runs it: a ModelConfig of the family llama,
// with F32 weights that are drawn from a seed, packed for Transformer.
//
// Nothing knows that it is not from a file. The model to be read in one sitting, and to hold all
// executors against, is tiny_transformer.h.
//
// Owns the weights. Thread contract: const after construction.
#pragma once

#include <memory>

#include "forge/linear/thread_pool.h"
#include "forge/model/transformer.h"
#include "forge/reference/tiny_config.h"

namespace forge::reference {

struct Weights;

/// The architecture of `config`: Llama's with a tied head, and token 0 ends a text.
model::ModelConfig model_config(const TinyConfig& config);

/// The matrices of `weights` by their roles. Borrows them.
model::StoredModel stored_model(const Weights& weights);

/// Packs with the threads of `pool`. The embedding is borrowed from `weights`. Requires: `weights`
/// are finite, and have the shapes of `config`, which is valid.
model::Transformer transformer_of(const TinyConfig& config, const Weights& weights,
                                  linear::ThreadPool& pool);

class SeededModel {
 public:
  /// Packs with the threads of `pool`. Requires: `config` is valid.
  SeededModel(const TinyConfig& config, linear::ThreadPool& pool);

  const model::ModelConfig& config() const { return transformer_.config(); }
  const model::Transformer& transformer() const { return transformer_; }
  /// The weights before they are packed.
  const model::StoredModel& stored() const { return stored_; }

 private:
  std::shared_ptr<const Weights>
      weights_;  // the transformer reads the embedding's rows where they are
  model::StoredModel stored_;
  model::Transformer transformer_;
};

}  // namespace forge::reference
