// attend_latent: attention over latents, of all rows of a pass.
//
//   grid      x: rows; y: tiles of up to 16 heads. 256 threads, a thread a position of the segment
//   memory    a latent is read twice, for scores and for sums, the second time from the L2 cache
//             (a segment of 256 rows of 576 floats is 590 KB), for all heads of the tile at once.
//             Sums of a tile are too many for registers: `out` has them between segments, in L2
//   bits      latent_tile.cuh, and the merge in ascending order. A row depends on no other row
#pragma once

#include "forge/gpu/kernels/attend_latent.h"
#include "latent_tile.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// The sums so far are in out [heads of the tile][C].
struct AddToHeads {
  gptr<float> out;
  int heads;  ///< number of heads of the tile
  int latent_size;

  template <int kHeads>
  FORGE_DEVICE void operator()(int d, const float (&sums)[kHeads], sptr<OnlineSoftmax> softmax,
                               int segment) const {
    float totals[kHeads];
    for (int n = 0; n < kHeads; ++n) {  // all loads are under way before the first is used
      totals[n] = segment > 0 && n < heads ? out[n * latent_size + d] : 0.0f;
    }
    for (int n = 0; n < kHeads; ++n) {
      if (n >= heads) break;
      const OnlineSoftmax seen = softmax[n];
      out[n * latent_size + d] = segment > 0 ? seen.merged_sum(totals[n], sums[n]) : sums[n];
    }
  }

  /// The sums of this thread's components become the result.
  FORGE_DEVICE void divide_all(sptr<OnlineSoftmax> softmax) const {
    constexpr int kInFlight = 4;
    FORGE_ROLLED for (int d = thread(); d < latent_size; d += threads()) {
      FORGE_ROLLED for (int first = 0; first < heads; first += kInFlight) {
        float totals[kInFlight];
        for (int n = 0; n < kInFlight; ++n) {
          totals[n] = first + n < heads ? out[(first + n) * latent_size + d] : 0.0f;
        }
        for (int n = 0; n < kInFlight; ++n) {
          if (first + n >= heads) break;
          const OnlineSoftmax seen = softmax[first + n];
          out[(first + n) * latent_size + d] = numerics::divide(totals[n], seen.l);
        }
      }
    }
  }
};

FORGE_KERNEL(gpu::AttendLatentArgs::kThreads, 2) attend_latent(gpu::AttendLatentArgs a) {
  SIMT_SHARED(float, queries, (kStripSize * kQueryStride));
  SIMT_SHARED(float, copied, (kKeys * kCopiedStride));
  SIMT_SHARED(float, weights, (gpu::kLatentTileHeads * kKeys));
  SIMT_SHARED(std::int64_t, rows, kKeys);
  SIMT_SHARED(OnlineSoftmax, softmax, gpu::kLatentTileHeads);
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.in.counts)[0];
  if (row >= counts.rows) return;

  const LatentTile tile = latent_queries(a.in, row, block().y);
  const std::int64_t head = std::int64_t{row} * a.in.heads + block().y * gpu::kLatentTileHeads;
  const AddToHeads add{global(a.in.out) + head * a.in.latents.latent_size, tile.count,
                       a.in.latents.latent_size};
  attend_latents(a.in, tile, {queries, copied, weights, rows, softmax}, add);
  add.divide_all(softmax);
}

}  // namespace FORGE_KERNELS
