// CanonicalLayers: the layers of a model on the device in canonical numerics, and the intermediate
// results of one slab of rows. The same operations in the same order as model/transformer.h:
//
//   each layer:  rms_norm, attention (grouped_query_pass.h or latent_pass.h) +=,
//                rms_norm, MLP (mlp_pass.h or experts_pass.h) +=
//   logits:      rms_norm, project(head)
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <optional>
#include <variant>

#include "capacity.h"
#include "device_pass.h"
#include "experts_pass.h"
#include "grouped_query_pass.h"
#include "latent_pass.h"
#include "mlp_pass.h"

namespace forge::gpu {

class CanonicalLayers {
 public:
  CanonicalLayers(const model::ModelConfig& model, const Capacity& capacity, Allocator& allocator);

  /// Takes the residual stream hidden [rows][d] through the first `count` layers.
  void run(const DevicePass& pass, const DeviceWeights& weights, float* hidden, int count) const;

  /// Makes the logits of the rows with logits. Requires: no candidates are wanted.
  void make_logits(const DevicePass& pass, const DeviceWeights& weights, const float* hidden,
                   const HeadResults& to) const;

 private:
  /// Of a sub-layer; the second one is there where norms are around.
  struct Norms {
    const float* first;
    const float* second;
  };

  /// Runs one sub-layer on the residual stream: body(x, to), its norm before that, after it or
  /// both, and the sum.
  template <class Body>
  void run_sub_layer(const DevicePass& pass, const Norms& norms, float* hidden,
                     const Body& body) const;
  void run_layer(const DevicePass& pass, const DeviceLayer& weights, float* hidden,
                 int layer) const;

  model::ModelConfig model_;
  Buffer normed_;  // [rows][d] what a sub-layer reads; or what it adds, where norms come after
  std::variant<GroupedQueryPass, LatentPass> attention_;
  MlpPass mlp_;
  std::optional<ExpertsPass> experts_;
};

}  // namespace forge::gpu
