// TargetOptions: everything that decides which tokens a run produces and where it runs, in its
// three forms.
//
//   command line  --target sim --device l4 --model forge-tiny:seed=1 --speculative 4 ...
//                 (target_flags.h)
//   values        TargetKind, DeviceOptions, SchedulerConfig, ExecutorOptions
//   trace header  "scheduler" (written by the trace layer) and "target" (target_header.h)
//
// All programs share it, so a flag means the same everywhere, and a trace of one can be
// replayed by another, on another target.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/checkpoint/lora.h"
#include "forge/core/names.h"
#include "forge/core/scheduler_config.h"
#include "forge/engine/engine.h"
#include "forge/executor/executor_options.h"
#include "forge/executor/faulty_executor.h"
#include "forge/runtime/builtin_model.h"
#include "forge/runtime/kv_memory.h"

namespace forge::model {
class PassProfile;
}

namespace forge::runtime {

enum class TargetKind : std::uint8_t {
  cpu,   ///< forge/cpu/cpu_executor.h
  sim,   ///< a simulated GPU (forge/gpu/gpu_executor.h, forge/sim/sim_device.h)
  cuda,  ///< a GPU
  null,  ///< none: the policy alone (null_executor.h)
};
constexpr Names<TargetKind> names_of(TargetKind) { return {"cpu", "sim", "cuda", "null"}; }
constexpr bool is_gpu(TargetKind kind) {
  return kind == TargetKind::sim || kind == TargetKind::cuda;
}

/// Which bits a run has (linear/numerics.h on a CPU, gpu::GpuNumerics on a GPU).
enum class RunNumerics : std::uint8_t {
  automatic,  ///< native on a CPU; fast with cuda where the model has the shapes and the KV is not
              ///< said to be f32; otherwise canonical
  canonical,
  native,  ///< of a CPU
  fast,    ///< of a GPU
};
constexpr Names<RunNumerics> names_of(RunNumerics) {
  return {"auto", "canonical", "native", "fast"};
}

/// Errors: no target of the kind has such numerics, with those that it has.
tl::expected<void, std::string> validate_numerics(TargetKind kind, RunNumerics numerics);

/// The device of a sim or cuda target. Tokens and logits do not depend on it.
struct DeviceOptions {
  std::string device;                          ///< empty: "h200" for sim, 0 for cuda
  bool graphs = true;                          ///< gpu::GpuOptions
  bool overlap = true;                         ///< likewise
  bool matrix_library = true;                  ///< likewise; cuda
  std::optional<std::uint64_t> schedule_seed;  ///< sim: seed of the order of threads
  int host_threads = 1;                        ///< sim: host threads that run thread blocks
  bool checked = false;                        ///< sim: look for races and other bugs of kernels
  std::uint32_t chunk_rows = 0;                ///< gpu::GpuOptions; 0: 2048 for cuda, 512 for sim
  /// The part of the free memory, above 0 and up to 1, that weights, scratch and KV may take:
  /// blocks fill it. Not given: 0.9 where nothing else says how many.
  std::optional<double> gpu_memory;

  friend bool operator==(const DeviceOptions&, const DeviceOptions&) = default;
};

/// The model that runs (loaded_model.h).
struct ModelSource {
  std::string path;                               ///< its file or directory; empty: it is built in
  std::vector<checkpoint::LoraSource> lora = {};  ///< merged into a model of a file, in order
  BuiltinModel builtin;                           ///< which of those that are
  std::string chat_template;  ///< a file in place of the model's own; empty: that
  std::string draft;          ///< path of the draft model; empty: there is none (DraftSource)
  int threads = 0;            ///< compute threads; 0: one for each core, one for the built-in model
  RunNumerics numerics = RunNumerics::automatic;  ///< configure() says which it becomes
  KvMemory kv_memory;  ///< gives SchedulerConfig::num_blocks where it says anything
  bool is_file() const { return !path.empty(); }

  friend bool operator==(const ModelSource&, const ModelSource&) = default;
};

/// Sets the model by its path, or the built-in one by its name (builtin_model.h). Errors: those of
/// parse_builtin.
tl::expected<void, std::string> set_model(ModelSource& source, const std::string& model);

struct TargetOptions {
  TargetKind kind = TargetKind::cpu;
  DeviceOptions device;
  ModelSource source;
  SchedulerConfig scheduler;
  /// configure() chooses scheduler.cache.num_blocks for a model from a file: on a CPU a full batch
  /// of its longest texts, in at most half of the free memory; on a GPU what device.gpu_memory
  /// leaves. Otherwise num_blocks stays, unless source.kv_memory or device.gpu_memory is given.
  bool fit_blocks = true;
  /// All fields count but cache and batch, which are the scheduler's: see executor_options(). For a
  /// null target only `drafts` matters, and the vocabulary is that of the default model.
  executor::ExecutorOptions executor;
  /// executor.kv_type as it was asked for; nullopt: that of the weights with fast numerics, f32
  /// otherwise.
  std::optional<numerics::KvType> kv;
  model::PassProfile* profile = nullptr;    ///< of a cpu target: what its model's passes tell it
  std::vector<executor::StepFault> faults;  ///< that are planted in the target's steps
  engine::OnTargetLost on_target_lost = engine::OnTargetLost::exit;
};

/// The options from which the target's executor is made.
executor::ExecutorOptions executor_options(const TargetOptions& options);

/// Errors: a text that names the thing, its value and the accepted range; the built-in model, its
/// KV or the index of the prefix cache take more memory of this machine than is free. What depends
/// on a model's file, and the rest of the memory, is left to configure() and Target::open().
tl::expected<void, std::string> validate(const TargetOptions& options);

}  // namespace forge::runtime
