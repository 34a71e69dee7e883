// PackedModel: the weights of a StoredModel in the form in which products read them
// (linear/linear_weights.h), with matrices that take the same input on top of one another.
//
// Three parts are not simply packed:
//   - the embedding stays where it is stored: only the rows of the batch are read. So a
//     model takes the memory of its products, even where the head is tied and the embedding is
//     wanted twice.
//   - the router, and the gate of shared experts, are widened to float: the experts of a token
//     should not depend on how its activations are rounded. In panels of rows they are of 16 bits:
//     products of fast numerics have their numbers from there (numerics/fast.h).
//   - kv_up of latent attention is taken apart by heads, its key halves transposed, for attention
//     over latents (numerics/latent_attention.h). Transposed rows are no longer blocks of a format,
//     so it becomes F32, F16 or BF16 where it is one, and F16 where it is quantized. A file that
//     has it by heads is packed as it is. In panels of rows, what is quantized is of 16 bits, too.
//
// In panels of rows, 16 bits are the model's: F16 if its first matrix of 16 bits is, or BF16.
//
// Packing reads every byte of the weights, and takes their digest at the same time
// (weights_digest.h).
//
// Weights are read a few MiB at a time, not mapped, and panels go to memory of the model, or to a
// store of somebody else's, a device's, where their sections then point.
//
// Owns its matrices, borrows the rows of the embedding. Thread contract: const after construction.
// Legend: model_config.h and stored_model.h.
#pragma once

#include <cstdint>
#include <optional>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "forge/linear/linear_weights.h"
#include "forge/linear/panel_store.h"
#include "forge/linear/stored_linear.h"
#include "forge/linear/thread_pool.h"
#include "forge/linear/weight_reader.h"
#include "forge/model/model_config.h"
#include "forge/model/stored_model.h"
#include "forge/model/weight_fault.h"
#include "forge/model/weights_digest.h"
#include "forge/numerics/canonical.h"

namespace forge::model {

struct PackedMlp {
  linear::LinearWeights gate_up;  ///< gate, up: d -> 2 F
  linear::LinearWeights down;     ///< F -> d
  Activation activation = Activation::silu;
  std::vector<float> gate_up_bias = {};  ///< [2 F], or empty
  std::vector<float> down_bias = {};     ///< [d], or empty
  numerics::SwigluClamp clamp = {};      ///< of clamped_swiglu

  int size() const { return down.inputs(); }  ///< F
};

struct PackedExperts {
  ExpertsConfig config;
  linear::LinearWeights router;        ///< d -> E, of floats, or of rows of 16 bits
  std::vector<float> correction_bias;  ///< [E], or empty
  std::vector<PackedMlp> experts;
  std::optional<PackedMlp> shared;
  linear::LinearWeights shared_gate = {};  ///< d -> 1, as router; no outputs where there is none
  std::vector<float> router_bias = {};     ///< [E], or empty
};

struct PackedGroupedQuery {
  linear::LinearWeights qkv;      ///< query, key, value: d -> (H + 2 Hkv) D
  std::vector<float> qkv_bias;    ///< [(H + 2 Hkv) D], or empty
  std::vector<float> query_norm;  ///< as in StoredGroupedQuery
  std::vector<float> key_norm;
  linear::LinearWeights output;    ///< H D -> d
  std::vector<float> output_bias;  ///< [d], or empty
  std::vector<float> sinks = {};   ///< [H], or empty
};

struct PackedLatent {
  linear::LinearWeights query_down;  ///< d -> Q; no outputs where query_rank is 0
  std::vector<float> query_norm;
  linear::LinearWeights query_up;  ///< Q, or d -> H (N + R)
  linear::LinearWeights kv_down;   ///< d -> C + R
  std::vector<float> kv_norm;
  std::vector<linear::LinearWeights> key_up;    ///< [H] of N -> C, transposed
  std::vector<linear::LinearWeights> value_up;  ///< [H] of C -> Dv
  linear::LinearWeights output;                 ///< H Dv -> d
};

struct PackedModelLayer {
  std::vector<float> attention_norm;
  std::variant<PackedGroupedQuery, PackedLatent> attention;
  std::vector<float> mlp_norm;
  std::variant<PackedMlp, PackedExperts> mlp;
  std::vector<float> attention_post_norm = {};  ///< as in StoredLayer
  std::vector<float> mlp_post_norm = {};
};

struct PackedModel {
  linear::StoredLinear embedding;  ///< [V][d], borrowed
  std::vector<PackedModelLayer> layers;
  std::vector<float> final_norm;
  linear::LinearWeights head;                            ///< d -> V
  linear::Numerics numerics = linear::Numerics::native;  ///< those of all products with the weights
  WeightsDigest digest;                                  ///< digest of the StoredModel

  /// The bytes of all matrices, which decoding one token would read if it used all experts.
  std::size_t bytes() const;
};

// for_each_matrix(part, visit) calls visit(LinearWeights) once for each matrix of a model, or of a
// part of one; those without outputs are among them.

template <class Visit>
void for_each_matrix(const PackedMlp& mlp, const Visit& visit) {
  visit(mlp.gate_up);
  visit(mlp.down);
}

template <class Visit>
void for_each_matrix(const PackedExperts& experts, const Visit& visit) {
  visit(experts.router);
  for (const PackedMlp& expert : experts.experts) for_each_matrix(expert, visit);
  if (experts.shared) for_each_matrix(*experts.shared, visit);
  visit(experts.shared_gate);
}

template <class Visit>
void for_each_matrix(const PackedGroupedQuery& attention, const Visit& visit) {
  visit(attention.qkv);
  visit(attention.output);
}

template <class Visit>
void for_each_matrix(const PackedLatent& attention, const Visit& visit) {
  visit(attention.query_down);
  visit(attention.query_up);
  visit(attention.kv_down);
  for (const linear::LinearWeights& head : attention.key_up) visit(head);
  for (const linear::LinearWeights& head : attention.value_up) visit(head);
  visit(attention.output);
}

template <class Visit>
void for_each_matrix(const PackedModel& model, const Visit& visit) {
  const auto part = [&](const auto& alternative) { for_each_matrix(alternative, visit); };
  for (const PackedModelLayer& layer : model.layers) {
    std::visit(part, layer.attention);
    std::visit(part, layer.mlp);
  }
  visit(model.head);
}

/// The numerics whose bits the model's results have: canonical also where native numerics use no
/// instruction on this machine that rounds otherwise (linear/numerics.h).
linear::Numerics numerics_of_results(const PackedModel& model);

/// How a model is packed.
struct PackModelOptions {
  linear::Numerics numerics = linear::Numerics::native;
  linear::WeightReader* reader = nullptr;  ///< null: all that is stored is in memory
  linear::PanelStore* store = nullptr;     ///< null: panels are the PackedModel's own memory
  bool rows = false;                       ///< weights of 16 bits as tensor cores read them
                                           ///< (linear::PackOptions)
};

/// What pack() would give, without panels and digest. Does not read the weights.
PackedModel packed_layout(const ModelConfig& config, const StoredModel& stored,
                          const PackModelOptions& options = {});

/// Packs one matrix after the other with the threads of `pool`, telling the reader of each when it
/// will be read and when not again. So packing needs little more memory than the result.
/// Errors: the first number of a matrix that is not finite, or not in 16 bits; what could not be
/// read. Requires:
/// `stored` has the shapes of `config`, which is valid; its vectors are finite.
tl::expected<PackedModel, PackFault> pack(const ModelConfig& config, const StoredModel& stored,
                                          linear::ThreadPool& pool,
                                          const PackModelOptions& options = {});

}  // namespace forge::model
