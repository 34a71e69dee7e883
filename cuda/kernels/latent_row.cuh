// Where the latent of a position lies: through the block table into the pool. A block holds, for
// each layer, the rows of its slots one after the other, [S][C + R]: a warp reads a row with a
// component a lane.
#pragma once

#include "forge/gpu/kernels/latent_input.h"
#include "forge/simt/dialect.h"
#include "kv_numbers.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// The row of `position`, in numbers from the start of a layer's pool, for the sequence with row
/// `table` of block tables.
FORGE_DEVICE std::int64_t row_of(const gpu::LatentLayer& latents, std::uint32_t table,
                                 int position) {
  const int index = position / latents.block_size;
  const int slot = position - index * latents.block_size;
  const std::uint32_t block = global(latents.tables)[std::uint64_t{table} * latents.table_stride +
                                                     static_cast<std::uint32_t>(index)];
  return static_cast<std::int64_t>(block * latents.block_stride) +
         std::int64_t{slot} * latents.row_size();
}

}  // namespace FORGE_KERNELS
