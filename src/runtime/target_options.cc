#include "forge/runtime/target_options.h"

#include <algorithm>
#include <utility>

#include "forge/runtime/memory_plan.h"
#include "free_memory.h"

namespace forge::runtime {
namespace {

// In double, which no configuration overflows.

double weights_of_builtin(const reference::TinyConfig& m) {
  const double hidden = m.hidden_size;
  const double attention = hidden * m.head_size * (2.0 * m.heads + 2.0 * m.kv_heads);
  return 4 * (2 * hidden * m.vocabulary_size + m.layers * (attention + 3 * hidden * m.ffn_size));
}

double kv_of_builtin(const TargetOptions& options) {
  const CacheShape& cache = options.scheduler.cache;
  const reference::TinyConfig m = options.source.builtin.config();
  const double blocks = options.kind == TargetKind::cuda
                            ? double{1} * cache.num_host_blocks
                            : double{1} * cache.num_blocks + cache.num_host_blocks;
  return static_cast<double>(bytes_of(options.executor.kv_type)) * blocks * cache.block_size *
         m.layers * 2 * m.kv_heads * m.head_size;
}

std::uint64_t rounded(double bytes) { return static_cast<std::uint64_t>(std::min(bytes, 0x1p62)); }

/// This machine's memory, as far as options say what is in it.
MemoryUse memory_by_options(const TargetOptions& options) {
  MemoryUse use{.scratch = prefix_index_bytes(options.scheduler)};
  if (options.kind == TargetKind::null || options.source.is_file()) return use;
  use.weights = rounded(weights_of_builtin(options.source.builtin.config()));
  use.kv = rounded(kv_of_builtin(options));
  return use;
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
  const auto check_memory = [&] {
    return check_fits({.host = memory_by_options(options)}, {.host = free_memory_bytes()});
  };
  if (options.source.is_file()) return check_memory();
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
  return check_memory();
}

}  // namespace forge::runtime
