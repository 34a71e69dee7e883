// What the tests across targets run: requests in too few blocks, recorded on the CPU with canonical
// numerics, and answered by a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "forge/core/names.h"
#include "forge/core/scheduler_config.h"
#include "forge/executor/executor_options.h"
#include "forge/gpu/gpu_model.h"
#include "forge/linear/thread_pool.h"
#include "forge/model/transformer.h"
#include "forge/sim/sim_device.h"
#include "sim/plan_events.h"

namespace forge::testing {

/// Options of all runs: drafts are three tokens, by half of the model's layers or another model.
executor::ExecutorOptions replay_options(const model::ModelConfig& config,
                                         numerics::KvType kv_type = numerics::KvType::f32);

struct CpuRun {
  std::string trace;
  Events events;
  std::uint64_t accepted = 0;  ///< drafts
};

/// What is run.
struct Crowd {
  PreemptionPolicy preemption = PreemptionPolicy::swap;
  std::uint32_t requests = 9;
  numerics::KvType kv_type = numerics::KvType::f32;
};

/// Prompts that share beginnings, of several lengths and ways to sample, in chunks and with
/// preemptions where they are more than four. `draft` drafts, or, if it is null, the model's first
/// layers.
CpuRun run_on_cpu(const model::Transformer& model, const model::Transformer* draft,
                  linear::ThreadPool& threads, const Crowd& crowd);

/// A simulated device that has so many bytes less than the models take.
std::unique_ptr<gpu::Device> device_for(const gpu::GpuModels& models, std::uint64_t bytes_short);

/// Which device answers.
enum class Replayer : std::uint8_t { sim, cuda };
constexpr Names<Replayer> names_of(Replayer) { return {"sim", "cuda"}; }
inline constexpr Replayer kReplayers[] = {Replayer::sim, Replayer::cuda};

/// Why it cannot answer here, or nothing.
std::string missing(Replayer replayer);

/// Expects the device to answer each step of the trace likewise, logits bit for bit.
void expect_replayed(Replayer replayer, const std::string& trace, const gpu::GpuModels& models,
                     numerics::KvType kv_type = numerics::KvType::f32);

}  // namespace forge::testing
