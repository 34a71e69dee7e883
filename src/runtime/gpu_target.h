// What a GPU target is made from: its device, its models, its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "forge/gpu/device.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/runtime/loaded_model.h"
#include "forge/runtime/memory_plan.h"
#include "forge/runtime/target_options.h"

namespace forge::runtime {

/// The device of a sim or cuda target. Errors: no such device, no CUDA in this build, ...
tl::expected<std::unique_ptr<gpu::Device>, std::string> open_device(const TargetOptions& options);

/// The model that drafts for `model`, or null.
const LoadedModel* draft_of(const TargetOptions& options, const LoadedModel& model);

/// Both models. Errors: what a GPU does not run of them, by name.
tl::expected<gpu::GpuModels, std::string> gpu_models(const TargetOptions& options,
                                                     const LoadedModel& model);

gpu::GpuOptions gpu_options(const TargetOptions& options);

MemoryPlan memory_on_gpu(const TargetOptions& options, const gpu::GpuModels& models);
MemoryPlan memory_on_cpu(const TargetOptions& options, const LoadedModel& model);

/// The most blocks, up to `most`, with which the models take no more than `budget` of the memory
/// where KV is. Errors: they take more with one. Requires: most >= 1.
tl::expected<std::uint32_t, std::string> blocks_beside(TargetOptions options,
                                                       const gpu::GpuModels& models,
                                                       std::uint64_t budget, std::uint32_t most);

/// What is free for such a target; `device` is that of a GPU, or null. Errors: the device's.
tl::expected<FreeMemory, std::string> free_memory(gpu::Device* device);

/// KV of a token of the model, and of the one that drafts for it.
std::uint64_t kv_bytes_of_token(const TargetOptions& options, const LoadedModel& model);

}  // namespace forge::runtime
