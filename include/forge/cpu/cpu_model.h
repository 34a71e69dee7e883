// CpuModel: a model together with its KV cache, as CpuExecutor runs it.
//
// The executor knows plans, sequences and acceptance; what it needs of a model is here: blocks that
// can be copied, and a forward pass over rows. It is an interface so that tests can plant a model
// of their own.
//
// Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "forge/core/step_plan.h"
#include "forge/executor/executor_options.h"
#include "forge/model/forward_batch.h"
#include "forge/model/model_config.h"
#include "forge/reference/tiny_config.h"

namespace forge::linear {
class ThreadPool;
}
namespace forge::model {
class PassProfile;
class Transformer;
}  // namespace forge::model

namespace forge::cpu {

class CpuModel {
 public:
  CpuModel() = default;
  CpuModel(const CpuModel&) = delete;
  CpuModel& operator=(const CpuModel&) = delete;
  virtual ~CpuModel() = default;

  virtual int vocabulary_size() const = 0;
  virtual int layers() const = 0;
  /// The longest sequence.
  virtual int positions() const { return model::kPositionsMax; }

  /// Copies a block within the cache, or between it and the host's blocks.
  virtual void copy(const BlockCopy& copy) = 0;

  /// Runs the first `layers` layers on the batch, and the head on its logit rows, as
  /// Transformer::forward. logits: [R][vocabulary_size()]. In steady state allocates nothing.
  virtual void forward(const model::ForwardBatch& batch, int layers, std::span<float> logits) = 0;
};

/// `transformer` with a KV cache as `options` say; its passes tell of themselves to `profile`, if
/// there is one. Borrows all but the options. Requires: `options` are valid.
std::unique_ptr<CpuModel> cpu_model(const model::Transformer& transformer,
                                    linear::ThreadPool& threads,
                                    const executor::ExecutorOptions& options,
                                    model::PassProfile* profile = nullptr);

/// The built-in model likewise, which it owns; one thread computes. Requires: `config` is valid.
std::unique_ptr<CpuModel> seeded_cpu_model(const reference::TinyConfig& config,
                                           const executor::ExecutorOptions& options);

}  // namespace forge::cpu
