// DeviceWeights: a model's weights on the device: panels (linear/linear_weights.h) and vectors.
//
// The fields are those of model/packed_model.h; what a model lacks (a bias, a norm) is null. With
// weights in codes there is room for the rows in 8 bits that their products read. Panels are packed
// on the host, as the CPU's are, a few MiB at a time on their way (weight_upload.h).
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
#include "forge/gpu/kernels/code_rows.h"
#include "forge/gpu/kernels/glu.h"

namespace forge::gpu {

/// Outputs of a matrix that are packed alike (linear::Section), in panels.
struct DeviceSection {
  const void* panels = nullptr;
  linear::PanelKind kind = linear::PanelKind::f32;
  int first_output = 0;
  int outputs = 0;
  const std::int32_t* order = nullptr;  ///< linear::Section::order, or null
};

/// A matrix and the bias of its products.
struct DeviceMatrix {
  std::vector<DeviceSection> sections;
  const float* bias = nullptr;
  int inputs = 0;
  int outputs = 0;
};

/// Matrices of one shape with the same sections, those of heads, or of experts, at equal distances;
/// and the biases of their products.
struct DeviceMatrices {
  std::vector<DeviceSection> sections;  ///< of the first matrix
  const float* bias = nullptr;          ///< [count][outputs]
  int count = 0;
  int inputs = 0;
  int outputs = 0;
  std::uint64_t matrix_bytes = 0;  ///< from the panels of a matrix to those of the next
};

struct DeviceGroupedQuery {
  DeviceMatrix qkv;
  const float* query_norm = nullptr;
  const float* key_norm = nullptr;
  const float* sinks = nullptr;
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
  GluFunction glu;
};

struct DeviceExperts {
  DeviceMatrix router;
  const float* correction_bias = nullptr;
  DeviceMatrices gate_up;
  DeviceMatrices down;
  GluFunction glu;
  std::optional<DeviceMlp> shared;
  DeviceMatrix shared_gate;  ///< has no outputs where there is none
};

struct DeviceLayer {
  const float* attention_norm = nullptr;
  std::variant<DeviceGroupedQuery, DeviceLatent> attention;
  const float* mlp_norm = nullptr;
  std::variant<DeviceMlp, DeviceExperts> mlp;
  const float* attention_post_norm = nullptr;
  const float* mlp_post_norm = nullptr;
};

class WeightUpload;

class DeviceWeights {
 public:
  /// Takes the memory and loads the model's weights. Returns once all of it has arrived or
  /// something has failed: fault(), allocator or queue say what. Without a queue it loads nothing,
  /// for an allocator that only counts. Products are of up to rows_max rows.
  DeviceWeights(const GpuModel& model, std::uint32_t rows_max, Allocator& allocator,
                CommandQueue* queue);

  /// What could not be read, or is not finite.
  const std::optional<model::PackFault>& fault() const { return fault_; }
  const model::WeightsDigest& digest() const { return digest_; }

  const void* embedding() const { return embedding_; }
  linear::PanelKind embedding_kind() const { return embedding_kind_; }
  const DeviceLayer& layer(int index) const { return layers_[static_cast<std::size_t>(index)]; }
  const float* final_norm() const { return final_norm_; }
  const DeviceMatrix& head() const { return head_; }

  /// Room for the rows of any product with codes, in 8 bits.
  RowGroup* coded_rows() const { return coded_rows_.as<RowGroup>(); }

 private:
  std::optional<model::PackedModel> load(const GpuModel& model, WeightUpload& upload);

  std::vector<Buffer> buffers_;
  std::optional<model::PackFault> fault_;
  model::WeightsDigest digest_;
  const void* embedding_ = nullptr;
  linear::PanelKind embedding_kind_ = linear::PanelKind::f32;
  std::vector<DeviceLayer> layers_;
  const float* final_norm_ = nullptr;
  DeviceMatrix head_;
  Buffer coded_rows_;
};

}  // namespace forge::gpu
