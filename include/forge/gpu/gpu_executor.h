// GpuExecutor: runs plans with a GPU, real or simulated: one class over the Device of either.
//
// One step, the first four parts in start(), if that is called, the others in execute():
//   1. apply     the plan's changes to what the host knows of each sequence (sequence_table.h)
//   2. upload    one copy: block-table writes, block copies, rows, sampling inputs
//   3. launch    table writes; block copies; per pass (executor/drafter.h) and slab of rows:
//                embedding, layers, head, sampling. Drafts that a pass proposes stay on the device
//   4. download  one copy: picks, drafts, digests, and the step's number, which says whose they are
//   5. wait      for the device, which works by itself from the upload on
//   6. accept    the acceptance rule on the picks, on the host, as the CPU does
//
// Its parts, in src/gpu, in the order of reading:
//
//   capacity      the most that a step can bring; all memory is sized by it
//   device_weights, weight_upload  the weights, and their way to the device
//   step_builder  slices become rows, tiles and slabs     step_mailbox  the upload, the download
//   block_tables  kept on the device by deltas             copy_runs     copies that may be at once
//   device_model  the launches of a slab of rows          decode_graphs buckets of batch sizes
//
// A step of plain decodes is captured as a graph, once per bucket of batch sizes, up to 256, and
// replayed: one call instead of seven or more a layer. Bits are the same with and without.
//
// Every failure is an ExecutionError that names call, step and device. Bookkeeping has then been
// done (executor.h). The next step first waits for whatever is still under way, then uploads whole
// block tables, so that a failed upload cannot leave an old one behind. A lost device says so
// (ExecutionError::target_lost).
//
// All memory, of host and device, is taken by create(). A step allocates nothing, but for the
// graph in the first step of its bucket. Everything is on one stream: a step is one chain of
// dependent kernels, so a second stream would only wait.
//
// Numerics are those of the model (gpu_model.h); canonical ones have the bits of CpuExecutor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <variant>

#include "forge/executor/drafter.h"
#include "forge/executor/executor_options.h"
#include "forge/executor/model_executor.h"
#include "forge/gpu/device.h"
#include "forge/gpu/gpu_model.h"
#include "forge/gpu/gpu_options.h"

namespace forge::gpu {

/// How many steps have run so far, and where their time went.
struct GpuStatistics {
  std::uint64_t steps = 0;
  std::uint64_t graph_steps = 0;  ///< run by a graph
  std::uint64_t graphs_captured = 0;
  std::uint64_t launches = 0;  ///< of kernels, those in graphs included
  double wait_us = 0;          ///< the part of start() and execute() that waits for the device
  double host_us = 0;          ///< the rest of them
};

/// The memory of an executor, by what it is for.
struct GpuMemory {
  MemoryBytes weights;  ///< pinned: rooms for weights on their way, which create() gives back
  MemoryBytes scratch;  ///< intermediate results, tables, what is sent to and fro
  MemoryBytes kv;       ///< the KV cache; pinned: its host blocks

  MemoryBytes all() const;
};

/// Weights that could not be read, or are not finite.
struct WeightsError {
  bool is_draft = false;  ///< they are the draft model's
  model::PackFault fault;
};

/// Why there is no executor.
using CreateError = std::variant<DeviceError, WeightsError>;
/// Of weights without their names, which a checkpoint knows (checkpoint.h).
std::string to_string(const CreateError& error);

class GpuExecutor : public executor::ModelExecutor {
 public:
  /// Loads the models' weights. Drafts come from the draft model if there is one, else from the
  /// first layers of the model; a `drafter` of the caller's replaces both. Requires: options that
  /// are valid for the model's layers; `device` outlives the executor.
  static tl::expected<std::unique_ptr<GpuExecutor>, CreateError> create(
      Device& device, const GpuModels& models, const executor::ExecutorOptions& options,
      const GpuOptions& gpu = {}, std::unique_ptr<executor::Drafter> drafter = nullptr);
  ~GpuExecutor() override;

  void begin(SeqId seq, const Request& request) override;
  tl::expected<void, std::string> resume(SeqId seq, const Request& request,
                                         const PastRun& past) override;
  std::optional<std::string> refuses(const Request& request) const override;
  void start(const StepPlan& plan) override;
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override;
  /// Errors: also that the device is lost, after which a process cannot use it again.
  tl::expected<void, std::string> reopen() override;

  const SpeculationStatistics& speculation() const override;
  const GpuStatistics& statistics() const;
  /// What came of trying the device's library of matrix products.
  const LibraryReport& library() const;

  /// Of the weights that it has loaded. Requires for the draft model's: there is one.
  const model::WeightsDigest& weights_digest(executor::PassModel which) const;

  /// The memory that create() takes. Looks at no weights.
  static GpuMemory memory(const GpuModels& models, const executor::ExecutorOptions& options,
                          const GpuOptions& gpu = {});

 private:
  struct State;
  explicit GpuExecutor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace forge::gpu
