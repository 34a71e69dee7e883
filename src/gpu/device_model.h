// DeviceModel: a model on the device: weights, KV pools, and room for the intermediate
// results of one chunk of rows. run() queues the kernels that take a chunk through it.
//
//   tokens:      embed
//   each layer:  rms_norm, project(qkv), rotate_and_store, attend, project(output) +=,
//                rms_norm, project(gate, up), silu_multiply, project(down) +=
//   logits:      rms_norm, project(head), sample, digest_logits
//
// The same operations in the same order as model/transformer.h.
//
// Owns the memory. Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "attention_path.h"
#include "block_tables.h"
#include "command_queue.h"
#include "copy_runs.h"
#include "device_weights.h"
#include "forge/executor/executor_options.h"
#include "step_input.h"
#include "step_mailbox.h"

namespace forge::gpu {

/// How much the launches for a chunk cover: what it has, or more, where the kernels find less.
struct ChunkShape {
  PassCounts counts;
  std::uint32_t key_chunks = 0;  ///< of the longest context of a decode row

  static ChunkShape of(const PassChunk& chunk);
};

class DeviceModel {
 public:
  DeviceModel(const GpuModel& model, const executor::ExecutorOptions& options,
              const Capacity& capacity, Allocator& allocator, CommandQueue& queue);

  /// Queues the copies of one run; their pairs are part of the step.
  void copy_blocks(const CopyRun& run, const DeviceStep& step, CommandQueue& queue) const;

  /// Queues all kernels for a chunk. Requires: `shape` covers it.
  void run(const PassChunk& chunk, const ChunkShape& shape, const DeviceStep& step,
           const BlockTables& tables, CommandQueue& queue) const;

  static std::uint64_t device_bytes(const model::ModelConfig& model,
                                    const executor::ExecutorOptions& options,
                                    const Capacity& capacity);

 private:
  struct Pass;

  void attention(const Pass& pass, int layer) const;
  void attend(const Pass& pass, int layer) const;
  void feed_forward(const Pass& pass, int layer) const;
  void head(const Pass& pass) const;

  model::ModelConfig model_;
  model::GroupedQueryConfig heads_;  // model_.attention
  int draft_layers_;
  bool digest_logits_;
  int block_size_;
  std::uint64_t block_floats_;
  std::uint32_t split_rows_;
  DeviceWeights weights_;

  Buffer pool_;       // [num_blocks][block_floats], model/kv_pool.h
  Buffer host_pool_;  // [num_host_blocks][block_floats], pinned

  // Of one chunk: [rows][...], R of them with logits.
  Buffer hidden_;    // [d] the residual stream
  Buffer normed_;    // [d]
  Buffer qkv_;       // [(H + 2 Hkv) D]
  Buffer attended_;  // [H D]
  Buffer partial_;   // [split rows][H][key chunks][D + 2]
  Buffer gate_up_;   // [2 F]
  Buffer gated_;     // [F]
  Buffer logits_;    // [R][V]
};

}  // namespace forge::gpu
