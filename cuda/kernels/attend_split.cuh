// attend_split: attention of few rows over long contexts. One row would keep one multiprocessor
// busy and leave the others idle; here each segment of its context is a block of its own
// ("split-K", flash decoding), and attend_merge puts the segments together.
//
//   grid      x: segments of 256 keys; y: tiles of up to 4 query heads; z: rows
//   memory    as attend_decode; each block leaves D + 2 floats a query head
//   bits      segments are independent until they are merged, by definition (numerics/attention.h)
#pragma once

#include "attend_tile.cuh"
#include "forge/gpu/kernels/attend_split.h"
#include "head_tile.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// What the block's segment yields goes to `partial`: a, m, l.
struct WritePartial {
  const gpu::AttendSplitArgs& a;
  std::int64_t head;  ///< first of the tile, over all rows: [rows][H]

  FORGE_DEVICE void operator()(int query, int d, float sum, const OnlineSoftmax& softmax) const {
    const int D = a.in.kv.head_size;
    const gptr<float> segment =
        global(a.partial) + ((head + query) * a.segments_max + block().x) * (D + 2);
    segment[d] = sum;
    if (d != 0) return;
    segment[D] = softmax.m;
    segment[D + 1] = softmax.l;
  }
};

FORGE_KERNEL(gpu::AttendSplitArgs::kThreads, 3) attend_split(gpu::AttendSplitArgs a) {
  SIMT_SHARED(float, queries, kQueryFloats<gpu::kTileHeads>);
  SIMT_SHARED(float, weights, kWeightFloats<gpu::kTileHeads>);
  SIMT_SHARED(std::int64_t, values, kKeys);
  SIMT_SHARED(OnlineSoftmax, softmax, gpu::kTileHeads);
  const auto row = static_cast<std::uint32_t>(block().z);
  const gpu::PassCounts counts = global(a.in.counts)[0];
  if (row >= counts.decode_rows) return;

  const HeadTile heads = head_tile(a.in.kv, block().y);
  QueryTile<0> tile = queries_of(a.in, heads, row);
  const int first = block().x * kKeys;
  if (first >= tile.length || first + kKeys <= tile.first_of(0)) return;
  if (tile.first_of(0) < first)
    tile.reach = tile.length - first;  // the segment is the first one here
  const int end = first + kKeys < tile.length ? first + kKeys : tile.length;
  const WritePartial write{a, std::int64_t{row} * a.in.kv.heads() + heads.first};
  attend_tile<gpu::kTileHeads>(a.in, tile, {first, end}, {queries, weights, values, softmax},
                               write);
}

}  // namespace FORGE_KERNELS
