// configure(): what options take from the model and from the memory that is free.
#include <algorithm>
#include <utility>

#include "choose_numerics.h"
#include "forge/core/scheduler_config.h"
#include "forge/runtime/loaded_model.h"
#include "free_memory.h"
#include "gpu_target.h"

namespace forge::runtime {
namespace {

using Blocks = tl::expected<std::uint32_t, std::string>;

constexpr double kGpuMemoryUsual = 0.9;

std::uint64_t block_bytes(const TargetOptions& options, const LoadedModel& model) {
  return kv_bytes_of_token(options, model) * options.scheduler.cache.block_size;
}

Blocks blocks_in(std::uint64_t bytes, std::uint64_t of_block) {
  const std::uint64_t blocks = bytes / of_block;
  if (blocks > 0) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(blocks, CacheShape::kNumBlocks.highest));
  }
  return tl::unexpected("--kv-memory: " + bytes_text(bytes) + " hold no block, which takes " +
                        bytes_text(of_block));
}

/// A full batch of the model's longest texts.
std::uint64_t blocks_of_full_batch(const TargetOptions& options, const LoadedModel& model) {
  const SchedulerConfig& scheduler = options.scheduler;
  const std::uint64_t longest =
      static_cast<std::uint64_t>(model.config().positions) + scheduler.cache.block_size - 1;
  return longest / scheduler.cache.block_size * scheduler.batch.max_batch_size;
}

/// On a GPU blocks fill what the rest leaves. Those of a simulated one are in this machine's
/// memory, of which nobody wants more than a full batch uses.
Blocks blocks_on_gpu(const TargetOptions& options, const LoadedModel& model) {
  const auto models = gpu_models(options, model);
  if (!models) return tl::unexpected(models.error());
  const auto device = open_device(options);
  if (!device) return tl::unexpected(device.error());
  const auto free = free_memory(device->get());
  if (!free) return tl::unexpected(free.error());
  const std::uint64_t where_kv_is = free->device.value_or(free->host);
  if (options.source.kv_memory.given()) {
    return blocks_in(options.source.kv_memory.of(where_kv_is), block_bytes(options, model));
  }
  const double part = options.device.gpu_memory.value_or(kGpuMemoryUsual);
  const auto budget = static_cast<std::uint64_t>(part * static_cast<double>(where_kv_is));
  std::uint64_t most = CacheShape::kNumBlocks.highest;
  if (options.kind == TargetKind::sim) most = std::min(most, blocks_of_full_batch(options, model));
  return blocks_beside(options, *models, budget, static_cast<std::uint32_t>(most));
}

Blocks blocks_on_cpu(const TargetOptions& options, const LoadedModel& model) {
  const std::uint64_t of_block = block_bytes(options, model);
  const std::uint64_t free = free_memory_bytes();
  if (options.source.kv_memory.given()) {
    return blocks_in(options.source.kv_memory.of(free), of_block);
  }
  return blocks_in(std::min(blocks_of_full_batch(options, model) * of_block, free / 2), of_block);
}

}  // namespace

tl::expected<void, std::string> configure(TargetOptions& options, const LoadedModel& model) {
  if (auto chosen = choose_numerics(options, model); !chosen) return chosen;
  const bool fits_blocks = options.source.kv_memory.given() || options.device.gpu_memory ||
                           (options.fit_blocks && options.source.is_file());
  if (fits_blocks) {
    const auto blocks =
        is_gpu(options.kind) ? blocks_on_gpu(options, model) : blocks_on_cpu(options, model);
    if (!blocks) return tl::unexpected(blocks.error());
    options.scheduler.cache.num_blocks = *blocks;
  }
  options.executor.eos = model.eos();
  if (options.executor.draft_layers == 0 || options.executor.drafts == 0) {
    options.executor.draft_layers = std::max(1, model.config().layers / 2);
  }
  if (const auto valid = validate(options.scheduler); !valid) {
    return tl::unexpected(to_string(valid.error()));
  }
  if (const auto valid = validate(executor_options(options), model.config().layers); !valid) {
    return tl::unexpected(to_string(valid.error()));
  }
  return {};
}

}  // namespace forge::runtime
