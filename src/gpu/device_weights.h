// DeviceWeights: what the model reads and never writes, on the device: weights in panels
// (linear/linear_weights.h) and the rows of rotary position embedding, for all positions that
// there can be.
//
// Owns the memory. Never changes after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocator.h"
#include "command_queue.h"
#include "forge/gpu/gpu_model.h"
#include "forge/model/rotary_table.h"

namespace forge::gpu {

struct DeviceLayer {
  const float* attention_norm = nullptr;
  const float* qkv = nullptr;
  const float* output = nullptr;
  const float* ffn_norm = nullptr;
  const float* gate_up = nullptr;
  const float* down = nullptr;
};

class DeviceWeights {
 public:
  /// Takes the memory and uploads the model's weights. Returns once all of it has arrived or
  /// something has failed.
  DeviceWeights(const GpuModel& model, std::uint32_t positions, Allocator& allocator,
                CommandQueue& queue);

  const float* embedding() const { return embedding_; }
  const DeviceLayer& layer(int index) const { return layers_[static_cast<std::size_t>(index)]; }
  const float* final_norm() const { return final_norm_; }
  const float* head() const { return head_; }
  const float* rotary() const { return rotary_; }

  static std::uint64_t device_bytes(const model::ModelConfig& model, std::uint32_t positions);

 private:
  // Of the host, if the upload failed: nobody knows what is still read.
  std::unique_ptr<model::RotaryTable> host_rotary_;
  std::vector<Buffer> buffers_;  // freed first, which waits for what is under way
  const float* embedding_ = nullptr;
  std::vector<DeviceLayer> layers_;
  const float* final_norm_ = nullptr;
  const float* head_ = nullptr;
  const float* rotary_ = nullptr;
};

}  // namespace forge::gpu
