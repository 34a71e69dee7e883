#include "forge/runtime/target_options.h"

#include <utility>

#include "forge/gpu/gpu_executor.h"
#include "forge/reference/seeded_model.h"

namespace forge::runtime {
namespace {

// In double, which no configuration overflows.

double bytes_of_weights(const reference::TinyConfig& m) {
  const double hidden = m.hidden_size;
  const double attention = hidden * m.head_size * (2.0 * m.heads + 2.0 * m.kv_heads);
  return 4 * (2 * hidden * m.vocabulary_size + m.layers * (attention + 3 * hidden * m.ffn_size));
}

double bytes_of_kv(const TargetOptions& options, std::uint32_t blocks) {
  const reference::TinyConfig m = options.source.builtin.config();
  const double slots = double{1} * blocks * options.scheduler.cache.block_size;
  return 4 * slots * m.layers * 2 * m.kv_heads * m.head_size;
}

/// The tokens of each block and its place in the index.
double bytes_of_prefix_index(const SchedulerConfig& s) {
  if (s.prefix_cache == PrefixCacheKind::none) return 0;
  return double{1} * s.cache.num_blocks * (64.0 + double{sizeof(TokenId)} * s.cache.block_size);
}

/// In this machine's memory: of a GPU's that is what goes there, and KV that is swapped out.
double bytes_of(const TargetOptions& options) {
  const SchedulerConfig& s = options.scheduler;
  const double index = bytes_of_prefix_index(s);
  if (options.kind == TargetKind::null) return index;
  const double host = index + bytes_of_weights(options.source.builtin.config()) +
                      bytes_of_kv(options, s.cache.num_host_blocks);
  return options.kind == TargetKind::cuda ? host : host + bytes_of_kv(options, s.cache.num_blocks);
}

/// With all the buffers of a GPU target, of which a real device's own are not in this machine.
double bytes_with_buffers(const TargetOptions& options) {
  const executor::ExecutorOptions e = executor_options(options);
  const model::ModelConfig model = reference::model_config(options.source.builtin.config());
  const double weights = bytes_of_weights(options.source.builtin.config());
  const gpu::MemoryBytes buffers = gpu::GpuExecutor::buffer_memory(model, e);
  const double device =
      options.kind == TargetKind::sim ? weights + static_cast<double>(buffers.device) : 0;
  return bytes_of_prefix_index(options.scheduler) + weights + device +
         static_cast<double>(buffers.pinned);
}

tl::expected<void, std::string> check_bytes(const char* what, double bytes) {
  constexpr auto kMax = static_cast<double>(kTargetBytesMax);
  if (bytes <= kMax) return {};
  const auto mib = [](double n) { return std::to_string(static_cast<std::uint64_t>(n / 1048576)); };
  return tl::unexpected(std::string(what) + " take " + mib(bytes) + " MiB, accepted: up to " +
                        mib(kMax) + " MiB");
}

}  // namespace

tl::expected<void, std::string> set_model(ModelSource& source, const std::string& model) {
  source.path = is_builtin(model) ? "" : model;
  if (source.is_file()) return {};
  auto builtin = parse_builtin(model);
  if (!builtin) return tl::unexpected(std::move(builtin.error()));
  source.builtin = *builtin;
  return {};
}

executor::ExecutorOptions executor_options(const TargetOptions& options) {
  executor::ExecutorOptions executor = options.executor;
  executor.cache = options.scheduler.cache;
  executor.batch = options.scheduler.batch;
  return executor;
}

tl::expected<void, std::string> validate(const TargetOptions& options) {
  if (const auto valid = validate(options.scheduler); !valid) {
    return tl::unexpected(to_string(valid.error()));
  }
  if (options.source.is_file()) return {};
  if (!options.source.lora.empty()) {
    return tl::unexpected(std::string("--lora: accepted with --model PATH, a model from a file"));
  }
  const reference::TinyConfig model = options.source.builtin.config();
  if (const auto valid = validate(model); !valid) {
    return tl::unexpected("model " + to_string(valid.error()));
  }
  if (const auto valid = validate(executor_options(options), model.layers); !valid) {
    return tl::unexpected(to_string(valid.error()));
  }
  if (auto fits = check_bytes("weights, KV cache and prefix index", bytes_of(options)); !fits) {
    return fits;
  }
  if (!is_gpu(options.kind)) return {};
  return check_bytes("weights, KV cache, prefix index and buffers", bytes_with_buffers(options));
}

}  // namespace forge::runtime
