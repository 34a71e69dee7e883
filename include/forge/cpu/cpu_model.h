// CpuModel: a model together with its KV cache, as CpuExecutor runs it.
//
// The executor knows plans, sequences and acceptance; what it needs of a model is here: blocks that
// can be copied, and a forward pass over rows. Two implementations: the reference model
// (tiny_cpu_model) and models from files (transformer_cpu_model).
//
// Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "forge/core/step_plan.h"
#include "forge/model/forward_batch.h"
#include "forge/model/tiny_config.h"

namespace forge {

class Transformer;
namespace linear {
class ThreadPool;
}

class CpuModel {
 public:
  CpuModel() = default;
  CpuModel(const CpuModel&) = delete;
  CpuModel& operator=(const CpuModel&) = delete;
  virtual ~CpuModel() = default;

  virtual int vocabulary_size() const = 0;
  virtual int layers() const = 0;

  /// Copies a block within the cache, or between it and the host's blocks.
  virtual void copy(const BlockCopy& copy) = 0;

  /// Runs the first `layers` layers on the batch, and the head on its logit rows, as
  /// TinyTransformer::forward. logits: [R][vocabulary_size()]. In steady state allocates nothing.
  virtual void forward(const ForwardBatch& batch, int layers, std::span<float> logits) = 0;
};

/// Sizes of the KV cache, as SchedulerConfig has them.
struct CacheSize {
  std::uint32_t num_blocks = 0;
  std::uint32_t block_size = 0;
  std::uint32_t num_host_blocks = 0;
};

/// The reference model with seeded weights. Requires: `config` is valid, sizes at least 1.
std::unique_ptr<CpuModel> tiny_cpu_model(const TinyConfig& config, const CacheSize& cache);

/// A model from a file. Borrows both. Requires: sizes at least 1.
std::unique_ptr<CpuModel> transformer_cpu_model(const Transformer& transformer,
                                                linear::ThreadPool& threads,
                                                const CacheSize& cache);

}  // namespace forge
