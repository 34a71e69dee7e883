// BenchModel: a model of a published shape whose weights are made up, to be measured.
//
// How long a step takes depends on how large the matrices are, not on what they say. So there is
// one buffer, as large as the largest matrix, and every matrix of the model is its beginning: 8
// billion weights of BF16 take 1 GB of host memory, and on the device 16 GB, as those of a real
// model do. In it are a million random numbers, as the type of weights stores them, again and
// again. They are spread as trained ones are, around 0 with variance 1 / hidden size, so that
// nothing overflows; a GPU multiplies constants faster, for want of heat.
//
// Numerics are fast where tensor cores take the model, otherwise canonical.
//
// Example, given `linear::ThreadPool& threads`:
//
//   const BenchModel model("llama-3-8b", quant::WeightType::q8_0, published_config("llama-3-8b"),
//                          threads);
//   auto executor = gpu::GpuExecutor::create(device, model.on_gpu(), options);
//
// Owns the weights, borrows the threads. Thread contract: const after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forge/gpu/gpu_model.h"
#include "forge/linear/thread_pool.h"
#include "forge/model/model_config.h"
#include "forge/model/stored_model.h"
#include "forge/quant/weight_type.h"

namespace forge {

/// A model that is measured.
struct BenchmarkedModel {
  std::string name;                    ///< of its shape in src/apps/model/shapes
  quant::WeightType weights;           ///< of all matrices, those of embedding and head among them
  std::vector<std::uint32_t> batches;  ///< of its decodes
};
const std::vector<BenchmarkedModel>& benchmarked_models();

/// Requires: there is such a shape.
model::ModelConfig published_config(const std::string& name);

class BenchModel {
 public:
  /// Requires: `config` is valid, and rows of its matrices are whole blocks of `weights`, which is
  /// not I8. `threads` pack the weights for each executor.
  BenchModel(std::string name, quant::WeightType weights, model::ModelConfig config,
             linear::ThreadPool& threads);
  BenchModel(const BenchModel&) = delete;
  BenchModel& operator=(const BenchModel&) = delete;

  const std::string& name() const { return name_; }
  quant::WeightType weights() const { return weights_; }
  const gpu::GpuModel& on_gpu() const { return *on_gpu_; }

 private:
  std::string name_;
  quant::WeightType weights_;
  model::ModelConfig config_;
  std::unique_ptr<std::byte[]> numbers_;  // those of every matrix
  model::StoredModel stored_;
  std::optional<gpu::GpuModel> on_gpu_;
};

}  // namespace forge
