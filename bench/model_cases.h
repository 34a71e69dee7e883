// Which steps of a model are measured (cuda_models.h) or counted (model_count.h), and how a device
// is brought to the point at which they run.
//
//   decode    each of B sequences has a context and gets its next token; whole steps, one by one
//   prefill   the prompt of one sequence, a chunk of 2,048 tokens a step; all its steps together
//
// Contexts of decodes are there from the start (bench_device.h). All cases of a group share an
// executor, and so its weights, and a cache that is as large as the largest of them needs.
//
// Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench_device.h"
#include "bench_model.h"
#include "forge/gpu/gpu_executor.h"
#include "running_batch.h"

namespace forge {

/// The type of the cache of keys and values.
inline constexpr numerics::KvType kModelKv = numerics::KvType::bf16;

/// How much is measured, of every model.
struct ModelSizes {
  std::vector<std::uint32_t> batches{1, 16, 64, 256};
  std::uint32_t context = 2048;  ///< tokens of a sequence that decodes, and of a prompt chunk
  std::uint32_t prompt = 8192;   ///< of a prefill
  std::uint32_t steps = 100;     ///< decode steps that are measured
};

struct ModelCase {
  enum class Phase : std::uint8_t { decode, prefill };
  Phase phase = Phase::decode;
  std::uint32_t batch = 1;
  std::uint32_t tokens = 0;  ///< of a sequence: its context, or its prompt
};
constexpr Names<ModelCase::Phase> names_of(ModelCase::Phase) { return {"decode", "prefill"}; }

/// Cases that one executor runs.
struct CaseGroup {
  gpu::GpuOptions gpu;
  std::vector<ModelCase> cases;  ///< from the one with the smallest cache on
};

/// Every batch and the prefill, with graphs, overlap and the device's library; every batch without
/// graphs. Without overlap the smallest and the largest batch; without the library the largest and
/// the prefill.
std::vector<CaseGroup> model_cases(const ModelSizes& sizes);

/// What an executor's cache and tables have to hold.
struct ModelRoom {
  std::uint32_t batch = 0;  ///< 0: for no case
  std::uint32_t blocks = 0;
};

/// The cases of a group for which a device has memory.
struct FittingCases {
  ModelRoom room;                    ///< for all of them
  std::vector<std::string> not_run;  ///< of each case, why it is not among them; or empty:
                                     ///< "needs 88123456789 bytes, 84567890123 free"
};
FittingCases fitting_cases(gpu::Device& device, const BenchModel& model, const CaseGroup& group,
                           const ModelSizes& sizes);

/// "model", "weights", "phase", "batch" and "tokens".
nlohmann::ordered_json to_json(const BenchModel& model, const ModelCase& of);

/// An executor for the cases of a group. They run one after the other.
class ModelRun {
 public:
  /// Loads the model. Requires: the device has memory for it, and outlives it.
  ModelRun(gpu::Device& device, const BenchModel& model, const ModelRoom& room,
           const gpu::GpuOptions& gpu, const ModelSizes& sizes);

  /// Brings the sequences of a decode to where `sizes.steps` steps and one more are left; submits a
  /// prompt.
  /// Requires: is_done().
  void begin(const ModelCase& of);
  bool is_done() const { return batch_.is_done(); }
  StepTimes step() { return batch_.step(); }
  const StepPlan& plan() const { return batch_.plan(); }
  const gpu::GpuStatistics& statistics() const { return executor_->statistics(); }
  const gpu::LibraryReport& library() const { return executor_->library(); }
  /// Times each launch of the next steps, as far as they are not captured, or ends that and returns
  /// what they took. Events between them make these steps slower.
  void time_launches() { device_.time(true); }
  std::map<std::string, BenchDevice::LaunchTimes> take_times();

 private:
  void skip_contexts(const ModelCase& of);

  ModelSizes sizes_;
  BenchDevice device_;
  std::unique_ptr<gpu::GpuExecutor> executor_;
  RunningBatch batch_;
};

}  // namespace forge
