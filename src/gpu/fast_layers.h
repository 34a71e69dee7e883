// FastLayers: the layers of a model on the device in fast numerics (numerics/fast.h), and the
// intermediate results of one slab of rows. A layer is at most seven launches where its norms come
// before its sub-layers, as long as few rows decode:
//
//   product          qkv, with the factor of the norm
//   prepare_heads    norms of heads, RoPE, KV to the pool
//   attend_spans     and, where contexts are split among thread blocks, merge_spans; prompts by
//                    attend_wide (attention_path.h)
//   product          output: +=, and the rows of the next norm
//   product          gate and up, with the factor of the norm, gated
//   product          down: +=, and the rows of the next norm
//
// A product is project_narrow or, of many rows, project_wide (tensor_product.h); with weights of
// codes project_codes_narrow or project_codes_wide (code_product.h), after a launch that rounds the
// rows to 8 bits. Where a layer has experts, the last two are those of fast_experts.h.
//
// Where norms come after, or around, rms_norm adds to the residual stream and scale_rows makes the
// next rows.
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <optional>

#include "capacity.h"
#include "device_pass.h"
#include "fast_experts.h"
#include "fast_products.h"
#include "forge/gpu/kernels/span_input.h"
#include "forge/gpu/kernels/tensor_product.h"
#include "kv_layers.h"

namespace forge::gpu {

class FastLayers {
 public:
  /// type: of the rows between its kernels. Requires: takes_fast (fast_shapes.h) the model; the KV
  /// is of 16 bits.
  FastLayers(const model::ModelConfig& model, numerics::HalfType type, const Capacity& capacity,
             Allocator& allocator);

  /// Takes the residual stream hidden [rows][d] through the first `count` layers.
  void run(const DevicePass& pass, const DeviceWeights& weights, float* hidden, int count) const;

  /// Makes what is wanted of the rows with logits.
  void make_logits(const DevicePass& pass, const DeviceWeights& weights, const float* hidden,
                   const HeadResults& to) const;

 private:
  /// What a sub-layer adds to, and who comes after it.
  struct Residual {
    float* hidden;
    const float* post_norm;  ///< of what is added; null: it has none
    const float* next_norm;  ///< of the sub-layer that reads the sum; null: it has none
    bool is_read;            ///< by a sub-layer
  };

  /// Makes what the next sub-layer reads.
  void scale_rows(const DevicePass& pass, const Residual& residual) const;
  /// That.
  FastRows scaled_rows() const;
  void attend(const DevicePass& pass, const DeviceGroupedQuery& weights, int layer) const;
  void launch_attention(const DevicePass& pass, const SpanInput& in) const;
  void run_mlp(const DevicePass& pass, const DeviceMlp& weights, const Residual& residual) const;
  void run_mlp(const DevicePass& pass, const DeviceExperts& weights,
               const Residual& residual) const;
  void add(const DevicePass& pass, const void* h, const DeviceMatrix& matrix,
           const Residual& residual) const;
  Output sum_of(const Residual& residual) const;
  NextRows next_rows(const Residual& residual) const;
  void add_normed(const DevicePass& pass, const Residual& residual) const;

  model::ModelConfig model_;
  model::GroupedQueryConfig attention_;
  KvLayers kv_layers_;
  std::uint32_t split_rows_;
  bool has_wide_attention_;  // devices of less shared memory do without attend_wide
  FastProducts products_;
  std::optional<FastExperts> experts_;

  // [rows][...], h: of products_.type()
  Buffer rows_;      // [d] h: what a sub-layer reads
  Buffer squares_;   // [d / 8] of rows_
  Buffer qkv_;       // [(H + 2 Hkv) D]
  Buffer queries_;   // [H D] of the KV's type
  Buffer attended_;  // [H D] h
  Buffer gated_;     // [F] h, of a dense MLP
  Buffer added_;     // [d] what a sub-layer adds, where a norm comes after
  Buffer partial_;   // [split rows][H][spans][D + 2]
};

}  // namespace forge::gpu
