// Transformer: the forward pass of real models, one for all families of model_config.h.
//
//   token -> embedding -> [ + attention   (grouped_query.h or latent_attention.h)
//                           + MLP         (mlp.h or experts.h)                    ] x layers
//         -> final norm -> head -> logits
//
// reference/tiny_transformer.h is the same thing for one architecture, to be read first.
//
// Every output bit depends on the tokens of its own sequence alone: not on the other rows, the
// chunking of the prompt, the block size, the blocks' ids or the number of threads. Sums are those
// of numerics/, products those of linear/, whose bits are the machine's own in one case only
// (linear/numerics.h).
//
// A draft model comes for free: `layers` below the full depth skips the rest and goes straight to
// the head. Its keys and values are those that the model writes for the same layers, so it uses the
// model's pool.
//
// Owns the packed weights, borrows the stored embedding (packed_model.h). Thread contract: const
// after construction; any number of threads, each with its own TransformerScratch, threads of its
// own, and sequences of its own in the pool.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "forge/core/names.h"
#include "forge/linear/thread_pool.h"
#include "forge/model/attention_pass.h"
#include "forge/model/experts.h"
#include "forge/model/forward_batch.h"
#include "forge/model/grouped_query.h"
#include "forge/model/kv_pool.h"
#include "forge/model/latent_attention.h"
#include "forge/model/mlp.h"
#include "forge/model/model_config.h"
#include "forge/model/packed_model.h"
#include "forge/model/rotary_table.h"
#include "forge/model/workers.h"
#include "forge/numerics/aligned.h"

namespace forge::model {

/// The places in a forward pass whose values can be observed.
enum class ForwardPoint : std::uint8_t {
  embedding,   ///< [T][d] the input of layer 0
  attention,   ///< [T][d] what attention adds, before the residual multiplier
  mlp,         ///< [T][d] what the MLP or experts add, likewise
  layer,       ///< [T][d] the output of a layer
  final_norm,  ///< [R][d]
  logits       ///< [R][V]
};
constexpr Names<ForwardPoint> names_of(ForwardPoint) {
  return {"embedding", "attention", "mlp", "layer", "final_norm", "logits"};
}

struct Observation {
  ForwardPoint point = ForwardPoint::embedding;
  std::optional<int> layer;  ///< the layer, at attention, mlp and layer
  int width = 0;
  std::span<const float> values;  ///< [rows][width], valid during the call
};

using ForwardObserver = std::function<void(const Observation&)>;

/// The shape of the pool that forward() takes.
KvShape kv_shape(const ModelConfig& config);

/// Threads and intermediate results of forward(). Grows to the largest batch seen, then allocates
/// nothing. Contents carry no meaning between calls, except for the rotary table.
struct TransformerScratch {
  /// Borrows `threads`.
  TransformerScratch(const ModelConfig& config, linear::ThreadPool& threads);

  Workers workers;
  RotaryTable rotary;
  std::optional<RotaryTable> window_rotary;  // of ModelConfig::window_rope
  numerics::AlignedFloats hidden;            // [T][d] the residual stream
  numerics::AlignedFloats normed;            // [T][d]
  numerics::AlignedFloats added;             // [T][d] what a sub-layer adds
  GroupedQueryScratch grouped_query;
  LatentScratch latent;
  MlpScratch mlp;
  ExpertsScratch experts;

  /// Called, if set, at every ForwardPoint, in the order of the pass.
  ForwardObserver observer;
};

class Transformer {
 public:
  /// Requires: `config` is valid, and `weights` were packed by it.
  Transformer(ModelConfig config, PackedModel weights);

  const ModelConfig& config() const { return config_; }
  const PackedModel& weights() const { return weights_; }

  /// Runs the first `layers` layers on the batch, and the head on its logit rows.
  /// logits: [R][V]. Requires: 1 <= layers <= config().layers; tables cover the positions; the pool
  /// has kv_shape(config()), the scratch was made for config().
  void forward(const ForwardBatch& batch, KvPool& pool, TransformerScratch& scratch,
               std::span<float> logits, int layers) const;

 private:
  void reserve(const ForwardBatch& batch, TransformerScratch& scratch) const;
  void embed(const ForwardBatch& batch, TransformerScratch& scratch) const;
  const RotaryTable* rotary_of(int layer, const TransformerScratch& scratch) const;
  void run_layer(int layer, const ForwardBatch& batch, KvPool& pool,
                 TransformerScratch& scratch) const;
  void head(const ForwardBatch& batch, TransformerScratch& scratch, std::span<float> logits) const;

  ModelConfig config_;
  PackedModel weights_;
};

}  // namespace forge::model
