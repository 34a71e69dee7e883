// attend_decode: attention of rows that are one token each, a batch of decodes.
//
//   grid      x: rows; y: tiles of up to 4 query heads of one KV head. 256 threads, a thread a key
//   memory    keys: consecutive positions are consecutive floats within a block of KV, so a warp
//             reads whole sectors if a block has 8 slots or more. Values: D consecutive floats a
//             key. Each is read once for all heads of the tile
//   bits      attend_segment.cuh, and the merge in ascending order, a sink last. A row depends on
//             no other row
#pragma once

#include "attend_tile.cuh"
#include "forge/gpu/kernels/attend_decode.h"
#include "head_tile.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// The result goes to out [heads of the tile][D].
struct WriteHeads {
  const gpu::AttentionInput& in;
  gptr<float> out;
  int first;  ///< query head of the row

  FORGE_DEVICE void operator()(int query, int d, float sum, const OnlineSoftmax& softmax) const {
    out[query * in.kv.head_size + d] = attended(in, first + query, sum, softmax);
  }
};

FORGE_KERNEL(gpu::AttendDecodeArgs::kThreads, 3) attend_decode(gpu::AttendDecodeArgs a) {
  SIMT_SHARED(float, queries, kQueryFloats<gpu::kTileHeads>);
  SIMT_SHARED(float, weights, kWeightFloats<gpu::kTileHeads>);
  SIMT_SHARED(std::int64_t, values, kKeys);
  SIMT_SHARED(OnlineSoftmax, softmax, gpu::kTileHeads);
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.in.counts)[0];
  if (row >= counts.decode_rows) return;

  const HeadTile heads = head_tile(a.in.kv, block().y);
  const QueryTile<0> tile = queries_of(a.in, heads, row);
  const std::int64_t head = std::int64_t{row} * a.in.kv.heads() + heads.first;
  const WriteHeads write{a.in, global(a.in.out) + head * a.in.kv.head_size, heads.first};
  attend_tile<gpu::kTileHeads>(a.in, tile, range_of(tile), {queries, weights, values, softmax},
                               write);
}

}  // namespace FORGE_KERNELS
