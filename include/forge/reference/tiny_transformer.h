// TinyTransformer: a real decoder, small enough to read in one sitting and to run at more
// than 100,000 tokens/s on one core.
//
//   token -> embedding -> [ RMSNorm -> attention (RoPE, grouped queries) -> +
//                           RMSNorm -> SwiGLU                            -> + ] x layers
//         -> RMSNorm -> products with the embedding -> logits
//
// The architecture is Llama's (Touvron et al., arXiv:2302.13971; grouped-query attention:
// Ainslie et al., arXiv:2305.13245; RoPE: Su et al., arXiv:2104.09864; SwiGLU: Shazeer,
// arXiv:2002.05202). The weights are drawn from a seed.
//
// forward() is the whole interface. It takes rows, each a token at a position of a
// sequence; it writes their keys and values through the block tables into the pool and
// attends over the physical blocks. Nothing that is in the pool is computed again.
//
// Every output bit depends on the tokens of its own sequence alone: all operations are the
// canonical ones of numerics/, whose order is fixed. Not on the other rows, the chunking
// of the prompt, the block size or the blocks' ids.
//
// A draft model comes for free: `layers` below the full depth skips the rest and goes
// straight to the head (layer skipping; Elhoushi et al., "LayerSkip", arXiv:2404.16710).
// Its keys and values are those that the target writes for the same layers, so it lives in
// the target's pool.
//
// Owns the packed weights. Thread contract: const after construction; any number of
// threads, each with its own Scratch and sequences of its own in the pool.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/model/forward_batch.h"
#include "forge/model/kv_pool.h"
#include "forge/model/rotary_table.h"
#include "forge/reference/packed_weights.h"
#include "forge/reference/tiny_config.h"

namespace forge::reference {

/// Intermediate results of forward(). Grows to the largest batch seen, then allocates
/// nothing. Contents carry no meaning between calls, except for the rotary table.
struct Scratch {
  explicit Scratch(const TinyConfig& config) : rotary(config.rope()) {}

  model::RotaryTable rotary;
  std::vector<float> hidden;     // [T][d] the residual stream
  std::vector<float> normed;     // [T][d]
  std::vector<float> qkv;        // [T][(H + 2 Hkv) D]
  std::vector<float> attended;   // [T][H D]
  std::vector<float> projected;  // [T][d] what a sub-layer adds
  std::vector<float> gate_up;    // [T][2 F]
  std::vector<float> gated;      // [T][F]
};

/// Of the pool that forward() takes.
model::KvShape kv_shape(const TinyConfig& config);

class TinyTransformer {
 public:
  /// Requires: `config` is valid (tiny_config.h).
  explicit TinyTransformer(const TinyConfig& config);

  /// Requires: the shapes of `weights` are those of `config`.
  TinyTransformer(const TinyConfig& config, const Weights& weights);

  const TinyConfig& config() const { return config_; }

  /// Runs the first `layers` layers on the batch, and the head on its logit rows.
  /// logits: [R][V]. Requires: 1 <= layers <= config().layers; tables cover the positions;
  /// the pool has kv_shape(config()). O(T d (d + F)) products, O(T length) attention.
  void forward(const model::ForwardBatch& batch, model::KvPool& pool, Scratch& scratch,
               std::span<float> logits, int layers) const;

 private:
  void embed(const model::ForwardBatch& batch, Scratch& scratch) const;
  void attend(int layer, const model::ForwardBatch& batch, model::KvPool& pool,
              Scratch& scratch) const;
  void write_kv(int layer, const model::ForwardBatch& batch, model::KvPool& pool,
                Scratch& scratch) const;
  void feed_forward(int layer, int rows, Scratch& scratch) const;
  void head(const model::ForwardBatch& batch, Scratch& scratch, std::span<float> logits) const;

  TinyConfig config_;
  PackedWeights weights_;
};

}  // namespace forge::reference
