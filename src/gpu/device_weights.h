// DeviceWeights: a model's weights on the device: panels (linear/linear_weights.h) and vectors.
//
// The fields are those of model/packed_model.h; what a model lacks (a bias, a norm) is null.
//
// Owns the memory. Never changes after construction.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "allocator.h"
#include "command_queue.h"
#include "forge/gpu/gpu_model.h"
#include "forge/gpu/kernels/weight_kind.h"

namespace forge::gpu {

/// Outputs of a matrix that are packed alike (linear::Section), in panels.
struct DeviceSection {
  const void* panels = nullptr;
  WeightKind kind = WeightKind::f32;
  int first_output = 0;
  int outputs = 0;
};

/// A matrix and the bias of its products.
struct DeviceMatrix {
  std::vector<DeviceSection> sections;
  const float* bias = nullptr;
  int inputs = 0;
  int outputs = 0;
};

/// Matrices of one shape and kind, one after the other: those of heads, or of experts.
struct DeviceMatrices {
  const void* panels = nullptr;
  WeightKind kind = WeightKind::f32;
  int count = 0;
  int inputs = 0;
  int outputs = 0;
};

struct DeviceGroupedQuery {
  DeviceMatrix qkv;
  const float* query_norm = nullptr;
  const float* key_norm = nullptr;
  DeviceMatrix output;
};

struct DeviceLatent {
  DeviceMatrix query_down;  ///< has no outputs where queries have no latent
  const float* query_norm = nullptr;
  DeviceMatrix query_up;
  DeviceMatrix kv_down;
  const float* kv_norm = nullptr;
  DeviceMatrices key_up;
  DeviceMatrices value_up;
  DeviceMatrix output;
};

struct DeviceMlp {
  DeviceMatrix gate_up;
  DeviceMatrix down;
};

struct DeviceExperts {
  DeviceMatrix router;
  const float* correction_bias = nullptr;
  DeviceMatrices gate_up;
  DeviceMatrices down;
  std::optional<DeviceMlp> shared;
};

struct DeviceLayer {
  const float* attention_norm = nullptr;
  std::variant<DeviceGroupedQuery, DeviceLatent> attention;
  const float* mlp_norm = nullptr;
  std::variant<DeviceMlp, DeviceExperts> mlp;
  const float* attention_post_norm = nullptr;
  const float* mlp_post_norm = nullptr;
};

class DeviceWeights {
 public:
  /// Takes the memory and uploads the model's weights. Returns once all of it has arrived or
  /// something has failed. Without a queue it uploads nothing, for an allocator that only counts.
  DeviceWeights(const GpuModel& model, Allocator& allocator, CommandQueue* queue);

  const void* embedding() const { return embedding_; }
  WeightKind embedding_kind() const { return embedding_kind_; }
  const DeviceLayer& layer(int index) const { return layers_[static_cast<std::size_t>(index)]; }
  const float* final_norm() const { return final_norm_; }
  const DeviceMatrix& head() const { return head_; }

 private:
  std::vector<Buffer> buffers_;
  const void* embedding_ = nullptr;
  WeightKind embedding_kind_ = WeightKind::f32;
  std::vector<DeviceLayer> layers_;
  const float* final_norm_ = nullptr;
  DeviceMatrix head_;
};

}  // namespace forge::gpu
