// Where the key and the value of a position lie: through the block table into the pool.
//
// Layout as model/kv_pool.h; a block holds, for each layer and KV head, its slots as
//
//   keys [D][S]     of f32: component d of slot s at d * S + s. Neighbouring positions are
//                   neighbours in memory, so that a warp with a position a lane reads consecutive
//                   floats
//   keys [S][D]     of 16 bits: component d of slot s at s * D + d. A lane reads eight components
//                   of its position at once
//   values [S][D]   as keys of 16 bits: here a warp has a component a lane
#pragma once

#include "forge/gpu/kernels/attention_input.h"
#include "forge/simt/dialect.h"
#include "kv_numbers.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Where one position is, in numbers from the start of a layer's pool.
struct Slot {
  std::int64_t key;    ///< component d at key + d * key_stride(kv)
  std::int64_t value;  ///< component d at value + d
};

/// Numbers from a component of a key to the next.
FORGE_DEVICE int key_stride(const gpu::KvLayer& kv) {
  return numerics::has_transposed_keys(kv.type) ? kv.block_size : 1;
}

/// The slot of `position` in the KV head `head`, for the sequence with row `table` of block tables.
FORGE_DEVICE Slot slot_of(const gpu::KvLayer& kv, std::uint32_t table, int head, int position) {
  const int index = position / kv.block_size;
  const int slot = position - index * kv.block_size;
  const std::uint32_t block =
      global(kv.tables)[std::uint64_t{table} * kv.table_stride + static_cast<std::uint32_t>(index)];
  const std::int64_t plane = std::int64_t{kv.head_size} * kv.block_size;  // keys; values likewise
  const std::int64_t keys = static_cast<std::int64_t>(block * kv.block_stride) + 2 * plane * head;
  const std::int64_t row = std::int64_t{slot} * kv.head_size;
  const std::int64_t key = keys + (numerics::has_transposed_keys(kv.type) ? slot : row);
  return {key, keys + plane + row};
}

}  // namespace FORGE_KERNELS
