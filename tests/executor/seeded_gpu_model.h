// The built-in model for GPU executors of tests.
#pragma once

#include <list>
#include <mutex>
#include <utility>

#include "forge/gpu/gpu_model.h"
#include "forge/reference/seeded_model.h"

namespace forge::testing {

/// Of each configuration one, which lives as long as the program.
inline gpu::GpuModel seeded_gpu_model(const reference::TinyConfig& config = {}) {
  struct Made {
    explicit Made(const reference::TinyConfig& of) : config(of), model(of, threads) {}
    reference::TinyConfig config;
    linear::ThreadPool threads{1};
    reference::SeededModel model;
  };
  static std::mutex mutex;
  static std::list<Made> all;
  const std::lock_guard lock(mutex);
  const auto model_of = [](Made& made) {
    return gpu::GpuModel::of(made.model.config(), made.model.stored(), made.threads).value();
  };
  for (Made& made : all) {
    if (made.config == config) return model_of(made);
  }
  return model_of(all.emplace_back(config));
}

}  // namespace forge::testing
