// DeviceModel: a model on the device: weights, KV pools, and room for the intermediate
// results of one slab of rows. run() queues the kernels that take a slab through it.
//
//   tokens:      embed
//   layers:      canonical_layers.h or fast_layers.h, by the model's numerics
//   logits:      the same, digest_logits, process_logits, sample
//
// Fast numerics write logits only where somebody reads them (LogitsUse): candidates
// (gpu/kernels/candidates.h) say which is the largest.
//
// Owns the memory. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "canonical_layers.h"
#include "copy_runs.h"
#include "device_pass.h"
#include "fast_layers.h"
#include "forge/executor/executor_options.h"
#include "forge/model/rotary_table.h"

namespace forge::gpu {

/// What a model needs on the device beside its weights.
struct ModelBuffers {
  ModelBuffers(const GpuModel& model, const executor::ExecutorOptions& options,
               const Capacity& capacity, Allocator& allocator, const LibraryReport& report = {});

  Buffer rotary;     // [positions][rope size], model/rotary_table.h
  Buffer pool;       // [num_blocks][block_bytes], model/kv_pool.h
  Buffer host_pool;  // [num_host_blocks][block_bytes], pinned

  // The intermediate results of one slab, R of its rows with logits.
  Buffer hidden;  // [rows][d] the residual stream
  std::variant<CanonicalLayers, FastLayers> layers;
  LibraryProducts library;
  Buffer logits;         // [R][V]
  Buffer candidates;     // [R][candidate_count(V)] of fast numerics
  Buffer window_rotary;  // likewise of ModelConfig::window_rope, where there is one
};

/// The bytes of the pools.
MemoryBytes kv_bytes(const executor::ExecutorOptions& options, const Capacity& capacity);

/// Where a model takes its memory, how its weights get there, and which library it may use.
struct ModelPlace {
  Allocator& allocator;
  CommandQueue& queue;
  const LibraryReport& library;
};

class DeviceModel {
 public:
  DeviceModel(const GpuModel& model, const executor::ExecutorOptions& options,
              const Capacity& capacity, const ModelPlace& place);

  /// As DeviceWeights has them.
  const std::optional<model::PackFault>& fault() const { return weights_.fault(); }
  const model::WeightsDigest& digest() const { return weights_.digest(); }

  /// Queues the copies of one run; their pairs are part of the step.
  void copy_blocks(const CopyRun& run, const DeviceStep& step, CommandQueue& queue) const;

  /// Queues all kernels for a slab, and the copies of the logits that the host wants of it
  /// (step.told). Requires: `shape` covers the slab.
  void run(const Slab& slab, const SlabShape& shape, const DeviceStep& step,
           const BlockTables& tables, CommandQueue& queue) const;

 private:
  void embed(const DevicePass& pass) const;
  HeadResults head_results(LogitsUse use) const;
  void pick(const DevicePass& pass, bool proposes) const;

  model::ModelConfig model_;
  bool digest_logits_;
  std::uint64_t block_bytes_;
  // If the upload failed, the device may still read it: it goes after the device's memory.
  std::unique_ptr<model::RotaryTable> host_rotary_;
  std::unique_ptr<model::RotaryTable> host_window_rotary_;
  DeviceWeights weights_;
  ModelBuffers buffers_;
};

}  // namespace forge::gpu
