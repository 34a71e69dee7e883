// BenchModel: a model of a published shape whose weights are made up, to be measured.
//
// How long a step takes depends on how large the matrices are, not on what they say. So there is
// one buffer of random numbers, as large as the largest matrix, and every matrix of the model is
// its beginning: 8 billion weights of BF16 take 1 GB of host memory, and on the device 16 GB, as
// those of a real model do. The numbers are spread as trained ones are, around 0 with variance
// 1 / hidden size, so that nothing overflows; a GPU multiplies constants faster, for want of heat.
//
// Numerics are fast where tensor cores take the model, otherwise canonical.
//
// Example, given `linear::ThreadPool& threads`:
//
//   const BenchModel model("llama-3-8b", published_config("llama-3-8b"), threads);
//   auto executor = gpu::GpuExecutor::create(device, model.on_gpu(), options);
//
// Owns the weights, borrows the threads. Thread contract: const after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forge/gpu/gpu_model.h"
#include "forge/linear/thread_pool.h"
#include "forge/model/model_config.h"
#include "forge/model/stored_model.h"

namespace forge {

/// The models that are measured, by the names of their shapes in src/apps/model/shapes.
const std::vector<std::string>& benchmarked_models();

/// Requires: there is such a shape.
model::ModelConfig published_config(const std::string& name);

class BenchModel {
 public:
  /// Requires: `config` is valid. `threads` make the weights, and pack them for each executor.
  BenchModel(std::string name, model::ModelConfig config, linear::ThreadPool& threads);
  BenchModel(const BenchModel&) = delete;
  BenchModel& operator=(const BenchModel&) = delete;

  const std::string& name() const { return name_; }
  const gpu::GpuModel& on_gpu() const { return *on_gpu_; }

 private:
  std::string name_;
  model::ModelConfig config_;
  std::unique_ptr<std::uint16_t[]> numbers_;  // BF16, those of every matrix
  model::StoredModel stored_;
  std::optional<gpu::GpuModel> on_gpu_;
};

}  // namespace forge
