// Capacity: the most of everything that one step can bring, by model and options. All memory
// is sized by it, so that no step ever needs more.
//
// A step runs each token of the plan once in the pass that verifies, and some of them in those that
// propose (executor/drafter.h): known tokens in the first, drafts in the others. A row writes a KV
// slot of its own, so a pass never has more rows than there are slots.
#pragma once

#include <cstdint>

#include "forge/executor/executor_options.h"
#include "forge/gpu/gpu_model.h"
#include "forge/gpu/gpu_options.h"
#include "forge/gpu/kernels.h"
#include "forge/model/model_config.h"

namespace forge::gpu {

/// What the capacity for a model depends on beside it and the options.
struct CapacityTerms {
  GpuNumerics numerics = GpuNumerics::canonical;  ///< fast if that of all models
  bool has_draft_model = false;
  bool matrix_library = false;           ///< GpuOptions
  int positions = model::kPositionsMax;  ///< of the longest sequence: those of the model that is
                                         ///< drafted for
  std::uint32_t chunk_rows = GpuOptions().chunk_rows;
  std::uint64_t shared_bytes = UINT64_MAX;  ///< DeviceInfo::shared_bytes
};

/// Those of both models' capacities. What memory is taken does not depend on the device.
CapacityTerms terms_of(const GpuModels& models, const GpuOptions& gpu,
                       std::uint64_t shared_bytes = UINT64_MAX);

struct Capacity {
  /// The capacity for `model`, which runs or drafts for another model.
  Capacity(const model::ModelConfig& model, const executor::ExecutorOptions& options,
           const CapacityTerms& terms);

  // The most in a plan.
  std::uint32_t batch_rows = 0;  ///< sequences in the batch
  std::uint32_t slices = 0;
  std::uint32_t tokens = 0;
  std::uint32_t drafts = 0;
  std::uint32_t picks = 0;  ///< of the model's pass

  // The most in what is uploaded for it, all passes together.
  std::uint32_t slabs = 0;  ///< slabs of rows
  std::uint32_t rows = 0;
  std::uint32_t logits = 0;
  std::uint32_t adjustments = 0;  ///< of single tokens' logits (sampling/adjustment.h)
  std::uint32_t mask_words = 0;   ///< a mask for each pick (sampling/mask.h)
  std::uint32_t tiles = 0;        ///< of rows of a sequence
  std::uint32_t pairs = 0;        ///< copies of blocks
  std::uint32_t writes = 0;       ///< to block tables; if there are more, whole tables are uploaded

  std::uint32_t tile_rows = 0;  ///< the most in a tile

  // The most in one slab of rows.
  std::uint32_t slab_rows = 0;
  std::uint32_t slab_logits = 0;
  std::uint32_t split_rows = 0;  ///< rows whose context can be split among thread blocks

  /// Whether logits are read whatever is picked: for digests, or since there are no candidates.
  bool reads_logits = false;
  std::uint32_t vocabulary = 0;
  std::uint64_t shared_bytes = 0;  ///< of a thread block, the most
  bool uses_library = false;       ///< of the device, where it has one

  // The most in a sequence: neither longer than the model's positions nor than the pool.
  std::uint32_t positions = 0;
  std::uint32_t table_stride = 0;  ///< blocks
  std::uint32_t key_segments = 0;  ///< numerics::kKeySegment keys each

  // The shape of the pools.
  std::uint32_t block_size = 0;  ///< slots
  numerics::KvType kv_type = numerics::KvType::f32;
  std::uint64_t block_numbers = 0;
  std::uint64_t layer_numbers = 0;  ///< of a block; layers lie one after the other
  std::uint64_t block_bytes() const { return block_numbers * bytes_of(kv_type); }
};

}  // namespace forge::gpu
