// attend_latent_split: attention over latents of few rows with long contexts, as attend_split is of
// keys and values: each segment of a context is a block of its own.
//
//   grid      x: segments of 256 positions; y: tiles of up to 16 heads; z: rows
//   memory    as attend_latent; each block leaves C + 2 floats a head
//   bits      segments are independent until they are merged, by definition (numerics/attention.h)
#pragma once

#include "forge/gpu/kernels/attend_latent_split.h"
#include "latent_tile.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Sums of the block's segment go to `partial`, of the tile's first head and so on.
struct WriteSums {
  gptr<float> partial;
  std::int64_t stride;  ///< floats from a head to the next
  int heads;            ///< number of heads of the tile

  template <int kHeads>
  FORGE_DEVICE void operator()(int d, const float (&sums)[kHeads], sptr<OnlineSoftmax> /*softmax*/,
                               int /*segment*/) const {
    for (int n = 0; n < kHeads; ++n) {
      if (n < heads) partial[n * stride + d] = sums[n];
    }
  }
};

FORGE_KERNEL(gpu::AttendLatentSplitArgs::kThreads, 2)
attend_latent_split(gpu::AttendLatentSplitArgs a) {
  SIMT_SHARED(float, queries, (kStripSize * kQueryStride));
  SIMT_SHARED(float, copied, (kKeys * kCopiedStride));
  SIMT_SHARED(float, weights, (gpu::kLatentTileHeads * kKeys));
  SIMT_SHARED(std::int64_t, rows, kKeys);
  SIMT_SHARED(OnlineSoftmax, softmax, gpu::kLatentTileHeads);
  const auto row = static_cast<std::uint32_t>(block().z);
  const gpu::PassCounts counts = global(a.in.counts)[0];
  if (row >= counts.rows) return;

  LatentTile tile = latent_queries(a.in, row, block().y);
  tile.begin = block().x * kKeys;
  if (tile.begin >= tile.end) return;
  if (tile.begin + kKeys < tile.end) tile.end = tile.begin + kKeys;
  const std::int64_t head = std::int64_t{row} * a.in.heads + block().y * gpu::kLatentTileHeads;
  const int C = a.in.latents.latent_size;
  const std::int64_t size = C + 2;  // of a segment
  const gptr<float> partial = global(a.partial) + (head * a.segments_max + block().x) * size;
  const std::int64_t stride = a.segments_max * size;
  attend_latents(a.in, tile, {queries, copied, weights, rows, softmax},
                 WriteSums{partial, stride, tile.count});
  if (thread() >= tile.count) return;
  const OnlineSoftmax own = softmax[thread()];
  partial[thread() * stride + C] = own.m;
  partial[thread() * stride + C + 1] = own.l;
}

}  // namespace FORGE_KERNELS
