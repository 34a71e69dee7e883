// FastGroupedQuery: grouped-query attention of one layer in fast numerics (numerics/fast.h), and
// its intermediate results:
//
//   product          qkv, with the factor of the norm
//   prepare_heads    norms of heads, RoPE, KV to the pool
//   attend_spans     and, where contexts are split among thread blocks, merge_spans; prompts by
//                    attend_wide (attention_path.h)
//
// The product of the output is the caller's.
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "capacity.h"
#include "device_pass.h"
#include "fast_products.h"
#include "forge/gpu/kernels/span_input.h"
#include "kv_layers.h"

namespace forge::gpu {

class FastGroupedQuery {
 public:
  using Weights = DeviceGroupedQuery;

  /// type: of the rows between kernels. Requires: takes_fast (fast_shapes.h) the model.
  FastGroupedQuery(const model::ModelConfig& model, numerics::HalfType type,
                   const Capacity& capacity, Allocator& allocator);

  /// What rows x [rows][d] attend to, in layer `layer` of the pool: rows [H D] for the product of
  /// the output. They stay until the next run.
  FastRows run(const DevicePass& pass, const Weights& weights, int layer, const FastRows& x) const;

 private:
  void attend(const DevicePass& pass, const SpanInput& in) const;

  model::ModelConfig model_;
  model::GroupedQueryConfig config_;
  KvLayers kv_layers_;
  std::uint32_t split_rows_;
  bool has_wide_;  // devices of less shared memory do without attend_wide
  int stages_;     // and have fewer tiles of keys at once in attend_spans
  FastProducts products_;

  // [rows][...], h: of products_.type()
  Buffer qkv_;       // [(H + 2 Hkv) D]
  Buffer queries_;   // [H D] of the KV's type
  Buffer attended_;  // [H D] h
  Buffer partial_;   // [split rows][H][spans][D + 2]
};

}  // namespace forge::gpu
