// LatentPass: multi-head latent attention of one layer on the device, and its intermediate results.
// The same operations in the same order as model/latent_attention.h:
//
//   project(query down), rms_norm (where queries have a latent), project(query up)
//   -> project(kv down) -> project_heads(key up): queries in terms of latents
//   -> store_latent -> attend -> project_heads(value up) -> project(output)
//
// Owns the buffers. Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "capacity.h"
#include "device_pass.h"
#include "forge/gpu/kernels/latent_input.h"
#include "kv_layers.h"

namespace forge::gpu {

class LatentPass {
 public:
  LatentPass(const model::ModelConfig& model, const Capacity& capacity, Allocator& allocator);

  /// to = attention of x [rows][d], in layer `layer` of the pool.
  void run(const DevicePass& pass, const DeviceLatent& weights, int layer, const float* x,
           const Output& to) const;

 private:
  void make_queries(const DevicePass& pass, const DeviceLatent& weights, const float* x) const;
  void attend(const DevicePass& pass, const LatentAttentionInput& in) const;

  model::ModelConfig model_;
  model::LatentConfig config_;
  KvLayers kv_layers_;
  std::uint32_t split_rows_;

  // [rows][...]. C is the size of a latent, V that of a value; R components turn, N do not.
  Buffer query_latent_;  // [Q]
  Buffer query_;         // [H (N + R)]
  Buffer products_;      // [C + R]
  Buffer absorbed_;      // [H (C + R)]
  Buffer sums_;          // [H C]
  Buffer values_;        // [H V]
  Buffer partial_;       // [split rows][H][key segments][C + 2]
};

}  // namespace forge::gpu
