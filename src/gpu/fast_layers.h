// FastLayers: the layers of a model on the device in fast numerics (numerics/fast.h), and the
// intermediate results of one slab of rows. A layer is at most seven launches where its norms come
// before its sub-layers, as long as few rows decode:
//
//   attention        up to the product of the output: three or four launches
//                    (fast_grouped_query.h); over latents six to nine (fast_latent.h)
//   product          output: +=, and the rows of the next norm
//   product          gate and up, with the factor of the norm, gated
//   product          down: +=, and the rows of the next norm
//
// A product is project_narrow or, of many rows, project_wide (tensor_product.h), or a library's
// where one is admitted (library_products.h); with weights of codes one of code_product.h, after a
// launch that rounds the rows to 8 bits. Where a layer has experts, the last two are those of
// fast_experts.h.
//
// Where norms come after, or around, rms_norm adds to the residual stream and scale_rows makes the
// next rows.
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "capacity.h"
#include "device_pass.h"
#include "fast_experts.h"
#include "fast_grouped_query.h"
#include "fast_latent.h"
#include "fast_products.h"
#include "forge/gpu/kernels/tensor_product.h"

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
  void run_attention(const DevicePass& pass, const DeviceLayer& weights, int layer,
                     const Residual& residual) const;
  void run_mlp(const DevicePass& pass, const DeviceMlp& weights, const Residual& residual) const;
  void run_mlp(const DevicePass& pass, const DeviceExperts& weights,
               const Residual& residual) const;
  void add(const DevicePass& pass, const FastRows& x, const DeviceMatrix& matrix,
           const Residual& residual) const;
  Output sum_of(const Residual& residual) const;
  NextRows next_rows(const Residual& residual) const;
  void add_normed(const DevicePass& pass, const Residual& residual) const;

  model::ModelConfig model_;
  FastProducts products_;
  std::variant<FastGroupedQuery, FastLatent> attention_;
  std::optional<FastExperts> experts_;

  // [rows][...], h: of products_.type()
  Buffer rows_;     // [d] h: what a sub-layer reads
  Buffer squares_;  // [d / 8] of rows_
  Buffer gated_;    // [F] h, of a dense MLP
  Buffer added_;    // [d] what a sub-layer adds, where a norm comes after
};

}  // namespace forge::gpu
