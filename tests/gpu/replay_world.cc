#include "gpu/replay_world.h"

#include <gtest/gtest.h>

#include <sstream>

#include "forge/cpu/cpu_executor.h"
#include "forge/cuda/cuda_device.h"
#include "forge/engine/engine.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/trace/replay.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_writer.h"

namespace forge::testing {
namespace {

SchedulerConfig scheduler(PreemptionPolicy preemption) {
  return {.cache = {.num_blocks = 22, .block_size = 4, .num_host_blocks = 12},
          .batch = {.max_batch_size = 5, .max_batch_tokens = 24},
          .prefill_chunk_size = 9,
          .preemption = preemption};
}

/// Prompts that share beginnings, of several lengths and ways to sample, in too few blocks.
std::vector<Request> crowded(int vocabulary, std::uint32_t count) {
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < count; ++i) {
    Request request;
    for (std::uint32_t k = 0; k < 11 + 7 * (i % 4); ++k) {
      const std::uint32_t token = k < 10 ? 3 * k + 1 : 31 * i + 7 * k;
      request.prompt.emplace_back(token % static_cast<std::uint32_t>(vocabulary));
    }
    request.max_new_tokens = 14 + 3 * (i % 5);
    request.sampling = {.temperature = i % 3 == 2 ? 0.8F : 0.0F, .seed = i};
    if (i % 2 == 1) request.sampling.repetition_penalty = 1.3F;
    if (i % 4 == 0) request.sampling.top_p = 0.9F;
    request.ignore_eos = true;
    requests.push_back(request);
  }
  return requests;
}

}  // namespace

executor::ExecutorOptions replay_options(const model::ModelConfig& config,
                                         numerics::KvType kv_type) {
  const SchedulerConfig s = scheduler(PreemptionPolicy::swap);
  return {.cache = s.cache,
          .batch = s.batch,
          .drafts = 3,
          .draft_layers = std::max(1, config.layers / 2),
          .kv_type = kv_type,
          .digest_logits = true,
          .check_kv = true};
}

CpuRun run_on_cpu(const model::Transformer& model, const model::Transformer* draft,
                  linear::ThreadPool& threads, const Crowd& crowd) {
  const executor::ExecutorOptions options = replay_options(model.config(), crowd.kv_type);
  const auto with_cache = [&](const model::Transformer& of) {
    return cpu::cpu_model(of, threads, options);
  };
  cpu::CpuExecutor cpu(options, with_cache(model), draft != nullptr ? with_cache(*draft) : nullptr);
  std::stringstream text;
  trace::TraceStream out(text);
  trace::TraceWriter writer(out, {.scheduler = scheduler(crowd.preemption)});
  engine::Engine engine(scheduler(crowd.preemption), cpu, &writer);
  CpuRun run;
  for (const Request& request : crowded(model.config().vocabulary_size, crowd.requests)) {
    EXPECT_TRUE(engine.submit(request));
    run.events.count(engine.step().plan);
  }
  while (engine.has_work()) run.events.count(engine.step().plan);
  engine.flush_trace();
  run.trace = text.str();
  run.accepted = cpu.speculation().accepted;
  return run;
}

std::unique_ptr<gpu::Device> device_for(const gpu::GpuModels& models, std::uint64_t bytes_short) {
  sim::SimOptions options{.device = sim::find_device("h200").value()};
  options.memory_bytes =
      gpu::GpuExecutor::memory(models, replay_options(models.model.config())).all().device -
      bytes_short;
  return std::make_unique<sim::SimDevice>(options);
}

std::string missing(Replayer replayer) {
  if (replayer == Replayer::sim) return "";
  if (!cuda::built_with_cuda()) return "this build has no CUDA";
  return cuda::device_count() == 0 ? "there is no GPU here" : "";
}

void expect_replayed(Replayer replayer, const std::string& trace, const gpu::GpuModels& models,
                     numerics::KvType kv_type) {
  const model::ModelConfig& config = models.model.config();
  const std::unique_ptr<gpu::Device> device =
      replayer == Replayer::cuda ? cuda::open_device().value() : device_for(models, 0);
  auto executor = gpu::GpuExecutor::create(*device, models, replay_options(config, kv_type));
  ASSERT_TRUE(executor.has_value()) << to_string(executor.error());
  std::istringstream text(trace);
  auto reader = trace::TraceReader::open(text);
  ASSERT_TRUE(reader.has_value());
  const auto report =
      replay(*reader, **executor, static_cast<std::uint32_t>(config.vocabulary_size));
  ASSERT_TRUE(report.has_value()) << to_string(report.error());
  ASSERT_FALSE(report->difference)
      << "step " << report->difference->step.value << ": "
      << to_string(report->difference->difference) << report->difference->target_error;
  EXPECT_GT(report->steps, 20U);
}

}  // namespace forge::testing
