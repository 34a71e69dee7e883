// Models for tests of fast numerics: small, of every property that they take, with random weights.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "forge/gpu/gpu_model.h"
#include "forge/gpu/kernels.h"
#include "forge/linear/thread_pool.h"
#include "forge/model/model_config.h"
#include "model/stored_weights.h"

namespace forge::testing {

struct FastShape {
  std::string name;
  model::ModelConfig config;
  friend std::ostream& operator<<(std::ostream& out, const FastShape& shape) {
    return out << shape.name;
  }
};

/// The kernels of a model's attention: for rows that decode, and for many rows of a sequence.
struct AttentionKernels {
  gpu::KernelId decodes;
  gpu::KernelId prompts;
};
AttentionKernels attention_kernels(const model::ModelConfig& config);

/// Each is for some of the properties, with keys of 16 to 64 components; all have inputs that are
/// no whole stage of a product.
std::vector<FastShape> fast_shapes();
/// By its name.
FastShape fast_shape(const std::string& name);

/// A model in memory, with random weights, or those of another, rounded or as they are.
class FastModel {
 public:
  FastModel(model::ModelConfig config, quant::WeightType type)
      : config_(std::move(config)), stored_(weights_.random(config_, type)) {}
  FastModel(model::ModelConfig config, const model::StoredModel& stored, quant::WeightType type)
      : config_(std::move(config)), stored_(weights_.converted(stored, type)) {}
  /// Borrows the weights.
  FastModel(model::ModelConfig config, model::StoredModel stored)
      : config_(std::move(config)), stored_(std::move(stored)) {}

  const model::ModelConfig& config() const { return config_; }
  const model::StoredModel& stored() const { return stored_; }
  gpu::GpuModel on_gpu(gpu::GpuNumerics numerics = gpu::GpuNumerics::fast) {
    return gpu::GpuModel::of(config_, stored_, threads_, nullptr, numerics).value();
  }

 private:
  model::ModelConfig config_;
  StoredWeights weights_;
  linear::ThreadPool threads_{1};
  model::StoredModel stored_;
};

}  // namespace forge::testing
