#include "gpu_target.h"

#include <charconv>
#include <utility>

#include "forge/cuda/cuda_device.h"
#include "forge/sim/open_device.h"
#include "free_memory.h"

namespace forge::runtime {
namespace {

using OpenDevice = tl::expected<std::unique_ptr<gpu::Device>, std::string>;

/// Chunks of so many rows keep a large GPU busy.
constexpr std::uint32_t kChunkRowsOfCuda = 2048;

OpenDevice open_simulated(const DeviceOptions& options, Heartbeat* heartbeat) {
  sim::OpenOptions open{.checked = options.checked,
                        .schedule_seed = options.schedule_seed,
                        .host_threads = options.host_threads,
                        .heartbeat = heartbeat};
  if (!options.device.empty()) open.device = options.device;
  auto device = sim::open_device(open);
  if (!device) return tl::unexpected("--device: " + device.error());
  return device;
}

OpenDevice open_cuda(const DeviceOptions& options) {
  int index = 0;
  const std::string& text = options.device;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, index);
  if (!text.empty() && (error != std::errc() || stopped != end || index < 0)) {
    return tl::unexpected("--device is '" + text + "', accepted for --target cuda: 0, 1, ...");
  }
  auto device = cuda::open_device(index);
  if (!device) return tl::unexpected(to_string(device.error()));
  return *std::move(device);
}

tl::expected<gpu::GpuModel, std::string> gpu_model(const LoadedModel& model,
                                                   gpu::GpuNumerics numerics) {
  auto on_gpu = model.gpu_model(numerics);
  if (!on_gpu) return tl::unexpected(model.name() + ": " + on_gpu.error());
  return on_gpu;
}

}  // namespace

OpenDevice open_device(const TargetOptions& options) {
  return options.kind == TargetKind::sim
             ? open_simulated(options.device, options.executor.heartbeat)
             : open_cuda(options.device);
}

const LoadedModel* draft_of(const TargetOptions& options, const LoadedModel& model) {
  return options.executor.drafts > 0 ? model.draft() : nullptr;
}

tl::expected<gpu::GpuModels, std::string> gpu_models(const TargetOptions& options,
                                                     const LoadedModel& model) {
  const auto numerics = options.source.numerics == RunNumerics::fast ? gpu::GpuNumerics::fast
                                                                     : gpu::GpuNumerics::canonical;
  const auto on_gpu = gpu_model(model, numerics);
  if (!on_gpu) return tl::unexpected(on_gpu.error());
  const LoadedModel* const draft = draft_of(options, model);
  if (draft == nullptr) return gpu::GpuModels(*on_gpu);
  const auto drafts = gpu_model(*draft, numerics);
  if (!drafts) return tl::unexpected("--draft: " + drafts.error());
  return gpu::GpuModels(*on_gpu, *drafts);
}

gpu::GpuOptions gpu_options(const TargetOptions& options) {
  gpu::GpuOptions gpu{.graphs = options.device.graphs, .overlap = options.device.overlap};
  if (options.kind == TargetKind::cuda) {
    gpu.chunk_rows = kChunkRowsOfCuda;
    gpu.matrix_library = options.device.matrix_library;
  }
  if (options.device.chunk_rows > 0) gpu.chunk_rows = options.device.chunk_rows;
  return gpu;
}

MemoryPlan memory_on_gpu(const TargetOptions& options, const gpu::GpuModels& models) {
  const gpu::GpuMemory memory =
      gpu::GpuExecutor::memory(models, executor_options(options), gpu_options(options));
  MemoryUse device{memory.weights.device, memory.scratch.device, memory.kv.device};
  const MemoryUse host{memory.weights.pinned,
                       memory.scratch.pinned + prefix_index_bytes(options.scheduler),
                       memory.kv.pinned};
  if (options.kind == TargetKind::cuda) return {.host = host, .device = device};
  return {
      .host = {host.weights + device.weights, host.scratch + device.scratch, host.kv + device.kv},
      .device = std::nullopt};
}

tl::expected<std::uint32_t, std::string> blocks_beside(TargetOptions options,
                                                       const gpu::GpuModels& models,
                                                       std::uint64_t budget, std::uint32_t most) {
  const auto plan_with = [&](std::uint32_t blocks) {
    options.scheduler.cache.num_blocks = blocks;
    const MemoryPlan plan = memory_on_gpu(options, models);
    return plan.device.value_or(plan.host);
  };
  const MemoryUse least = plan_with(1);
  if (least.all() > budget) {
    return tl::unexpected("with one block of KV the model takes " + std::to_string(least.all()) +
                          " bytes (" + to_string(least) + "), accepted: up to " +
                          std::to_string(budget) + " (" + bytes_text(budget) +
                          "), the part of the free memory that --gpu-memory gives it");
  }
  std::uint32_t fits = 1;
  std::uint32_t too_many = most + 1;
  while (too_many - fits > 1) {
    const std::uint32_t middle = fits + (too_many - fits) / 2;
    (plan_with(middle).all() <= budget ? fits : too_many) = middle;
  }
  return fits;
}

MemoryPlan memory_on_cpu(const TargetOptions& options, const LoadedModel& model) {
  const CacheShape& cache = options.scheduler.cache;
  const std::uint64_t slots =
      cache.block_size * (std::uint64_t{cache.num_blocks} + cache.num_host_blocks);
  return {.host = {.weights = 0,  // packed already
                   .scratch = prefix_index_bytes(options.scheduler),
                   .kv = slots * kv_bytes_of_token(options, model)},
          .device = std::nullopt};
}

tl::expected<FreeMemory, std::string> free_memory(gpu::Device* device) {
  FreeMemory free{.host = free_memory_bytes(), .device = std::nullopt};
  if (device == nullptr) return free;
  const auto of_device = device->free_bytes();
  if (!of_device) return tl::unexpected(to_string(of_device.error()));
  free.device = *of_device;
  return free;
}

std::uint64_t kv_bytes_of_token(const TargetOptions& options, const LoadedModel& model) {
  std::uint64_t numbers = kv_shape(model.config()).token_numbers();
  if (model.draft() != nullptr) numbers += kv_shape(model.draft()->config()).token_numbers();
  return bytes_of(options.executor.kv_type) * numbers;
}

}  // namespace forge::runtime
