// FastLatent: multi-head latent attention of one layer in fast numerics (numerics/fast.h), and its
// intermediate results:
//
//   product               query down, and scale_rows, where queries have a latent
//   product               query up
//   product               kv down
//   prepare_latents       norm and RoPE of latents, which go to the pool; RoPE of queries
//   project_heads_wide    key up: queries in terms of latents
//   attend_latent_spans   and, where contexts are split among thread blocks, merge_spans
//   project_heads_wide    value up
//
// The product of the output is the caller's.
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "capacity.h"
#include "device_pass.h"
#include "fast_products.h"
#include "forge/gpu/kernels/latent_input.h"
#include "forge/gpu/kernels/span_input.h"
#include "kv_layers.h"

namespace forge::gpu {

class FastLatent {
 public:
  using Weights = DeviceLatent;

  /// type: of the rows between kernels. Requires: takes_fast (fast_shapes.h) the model.
  FastLatent(const model::ModelConfig& model, numerics::HalfType type, const Capacity& capacity,
             Allocator& allocator);

  /// As FastGroupedQuery::run; the rows are [H Dv].
  FastRows run(const DevicePass& pass, const Weights& weights, int layer, const FastRows& x) const;

 private:
  /// Where a product of heads leaves its results.
  struct Heads {
    void* y;
    int stride;
    numerics::HalfType type;
  };

  void make_queries(const DevicePass& pass, const Weights& weights, const FastRows& x) const;
  void multiply_heads(const DevicePass& pass, const void* x, const DeviceMatrices& matrices,
                      const Heads& to) const;
  SpanInput input_of(const DevicePass& pass, const LatentLayer& latents) const;

  model::ModelConfig model_;
  model::LatentConfig config_;
  KvLayers kv_layers_;
  std::uint32_t split_rows_;
  FastProducts products_;

  // [rows][...], h: of products_.type(). C is the size of a latent, Dv that of a value; R
  // components turn, N do not.
  Buffer query_latent_;    // [Q]
  Buffer latent_rows_;     // [Q] h
  Buffer latent_squares_;  // [Q / 8] of latent_rows_
  Buffer query_;           // [H (N + R)]
  Buffer latents_;         // [C + R]
  Buffer plain_;           // [H N] h: queries as far as they do not turn
  Buffer absorbed_;        // [H (C + R)] of the KV's type
  Buffer sums_;            // [H C] h
  Buffer values_;          // [H Dv] h
  Buffer partial_;         // [split rows][H][spans][C + 2]
};

}  // namespace forge::gpu
