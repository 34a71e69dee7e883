#include "forge/runtime/target_options.h"

#include <utility>

#include "forge/runtime/memory_plan.h"
#include "free_memory.h"

namespace forge::runtime {
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
  const MemoryUse index{.scratch = prefix_index_bytes(options.scheduler)};
  if (auto fits = check_fits({.host = index}, {.host = free_memory_bytes()}); !fits) return fits;
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
  return {};
}

}  // namespace forge::runtime
