// Target: what runs plans, together with the device that it runs on.
//
// Owns both. Thread contract: one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/executor/model_executor.h"
#include "forge/gpu/device.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/grammar/output_compiler.h"
#include "forge/runtime/loaded_model.h"
#include "forge/runtime/memory_plan.h"
#include "forge/runtime/run_record.h"
#include "forge/runtime/target_options.h"

namespace forge::runtime {

/// A target with a model: cpu, sim or cuda.
class Target {
 public:
  /// Makes a target. `model` is that of options.source, opened for such a target, which borrows it.
  /// Errors: no such device, no CUDA in this build, more memory than is free, of which then none is
  /// taken, what of the model a GPU does
  /// not run, weights that cannot be read, ... by name. Requires: valid options, not of a null
  /// target.
  static tl::expected<Target, std::string> open(const TargetOptions& options,
                                                const LoadedModel& model);

  Target(Target&&) = default;
  Target& operator=(Target&&) = delete;  // would end the old device before its executor

  executor::ModelExecutor& executor() { return *executor_; }

  /// Makes the grammars of its requests, over the model's vocabulary.
  const std::shared_ptr<grammar::OutputCompiler>& grammars() const { return grammars_; }

  /// What a trace's header says of a run on it.
  const RunRecord& record() const { return record_; }

  /// The memory that it took.
  const MemoryPlan& memory() const { return memory_; }

  /// What came of trying the library of its device.
  const gpu::LibraryReport& library() const { return library_; }

  /// "simulated NVIDIA H200 SXM 141GB"; empty for a CPU.
  const std::string& device_name() const { return device_name_; }

  /// The time that the steps so far would take on the simulated GPU; nullopt for other targets.
  std::optional<gpu::Estimate> estimate() const {
    return device_ == nullptr ? std::nullopt : device_->estimate();
  }

 private:
  static tl::expected<Target, std::string> open_on_cpu(const TargetOptions& options,
                                                       const LoadedModel& model);
  static tl::expected<Target, std::string> open_on_gpu(const TargetOptions& options,
                                                       const LoadedModel& model);
  Target(std::unique_ptr<executor::ModelExecutor> executor,
         std::shared_ptr<grammar::OutputCompiler> grammars, RunRecord record)
      : executor_(std::move(executor)),
        grammars_(std::move(grammars)),
        record_(std::move(record)) {}

  std::unique_ptr<gpu::Device> device_;  // outlives the executor
  std::unique_ptr<executor::ModelExecutor> executor_;
  std::shared_ptr<grammar::OutputCompiler> grammars_;
  RunRecord record_;
  MemoryPlan memory_;
  gpu::LibraryReport library_;
  std::string device_name_;
};

}  // namespace forge::runtime
