// StoredModel: the weights of a model by their roles, as its checkpoint stores them.
//
// Names of tensors, files and their formats end here: checkpoint.h finds each tensor, checks its
// type and shape against the ModelConfig, and the code that computes sees only roles. Matrices stay
// where they are, in the mapped file, in the form that it has them; vectors (norms and biases) are
// few and are copied to floats.
//
// A role that the configuration does not switch on is absent: an empty vector, or none. All others
// are there, in the shapes below, and need no further check.
//
// Borrows matrices from the Checkpoint. Thread contract: values, const after construction.
// Legend: model_config.h; R rope_size, N nope_size, C kv_rank, Q query_rank, Dv value_size.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "forge/linear/stored_linear.h"

namespace forge::model {

/// down( activation(gate x) * up x )
struct StoredMlp {
  linear::StoredLinear gate;          ///< [F][d]
  linear::StoredLinear up;            ///< [F][d]
  linear::StoredLinear down;          ///< [d][F]
  std::vector<float> gate_bias = {};  ///< [F], or empty, as up_bias and down_bias then are
  std::vector<float> up_bias = {};    ///< [F]
  std::vector<float> down_bias = {};  ///< [d]
};

struct StoredExperts {
  linear::StoredLinear router;         ///< [E][d]
  std::vector<float> correction_bias;  ///< [E], or empty
  std::vector<StoredMlp> experts;      ///< [E]
  std::optional<StoredMlp> shared;
  std::optional<linear::StoredLinear> shared_gate = {};  ///< [1][d]
  std::vector<float> router_bias = {};                   ///< [E], or empty
};

using MlpWeights = std::variant<StoredMlp, StoredExperts>;

struct StoredGroupedQuery {
  linear::StoredLinear query;      ///< [H D][d]
  linear::StoredLinear key;        ///< [Hkv D][d]
  linear::StoredLinear value;      ///< [Hkv D][d]
  linear::StoredLinear output;     ///< [d][H D]
  std::vector<float> query_bias;   ///< [H D], or empty, as key and value bias then are
  std::vector<float> key_bias;     ///< [Hkv D]
  std::vector<float> value_bias;   ///< [Hkv D]
  std::vector<float> output_bias;  ///< [d], or empty
  std::vector<float> query_norm;   ///< [D] or [H D], as QueryKeyNorm says, or empty
  std::vector<float> key_norm;     ///< [D] or [Hkv D], or empty
  std::vector<float> sinks = {};   ///< [H], or empty
};

struct StoredLatent {
  std::optional<linear::StoredLinear> query_down;  ///< [Q][d]; nullopt where query_rank is 0
  std::vector<float> query_norm;                   ///< [Q], or empty
  linear::StoredLinear query_up;  ///< [H (N + R)][Q], or of d inputs; a head: N, then R rows
  linear::StoredLinear kv_down;   ///< [C + R][d]: the latent, then the key part that turns
  std::vector<float> kv_norm;     ///< [C]
  linear::StoredLinear output;    ///< [d][H Dv]

  /// Keys and values from the latent, as checkpoints have them: of all heads in one matrix,
  linear::StoredLinear kv_up;  ///< [H (N + Dv)][C]; a head: N rows of its key, Dv of its value
  /// or head by head, keys transposed, as newer GGUF files do. kv_up has no outputs then, otherwise
  /// these have no heads.
  std::vector<linear::StoredLinear> key_up;    ///< [H] of [C][N]
  std::vector<linear::StoredLinear> value_up;  ///< [H] of [Dv][C]
};

using AttentionWeights = std::variant<StoredGroupedQuery, StoredLatent>;

struct StoredLayer {
  std::vector<float> attention_norm;            ///< [d], where NormPlacement says
  AttentionWeights attention;                   ///< of the kind of ModelConfig::attention
  std::vector<float> mlp_norm;                  ///< [d]
  MlpWeights mlp;                               ///< StoredMlp where is_dense()
  std::vector<float> attention_post_norm = {};  ///< [d], the second of norms around, or empty
  std::vector<float> mlp_post_norm = {};        ///< [d], likewise
};

struct StoredModel {
  linear::StoredLinear embedding;  ///< [V][d]
  std::vector<StoredLayer> layers;
  std::vector<float> final_norm;             ///< [d]
  std::optional<linear::StoredLinear> head;  ///< [V][d]; nullopt: tied to the embedding
};

}  // namespace forge::model
