// attend_prompt: attention of consecutive rows of one sequence: a chunk of its prompt, or drafts to
// verify. Their contexts differ by a key from row to row, so up to 8 rows go through them together.
//
//   grid      x: tiles of rows; y: query heads. 256 threads, a thread a key
//   memory    as attend_decode, each key and value read once for all rows of the tile
//   bits      attend_segment.cuh. A row leaves out the keys after its own: their weights are not
//             zero, they are not there, so the chain ends where the definition ends it. Likewise
//             it begins with the first key of the row's sliding window, if there is one, and ends
//             with the sink of the head
#pragma once

#include "attend_tile.cuh"
#include "forge/gpu/kernels/attend_prompt.h"

namespace FORGE_KERNELS {
using namespace simt;

/// The result goes to one head of consecutive rows of out [T][H D].
struct WriteRows {
  const gpu::AttentionInput& in;
  gptr<float> out;
  int head;

  FORGE_DEVICE void operator()(int query, int d, float sum, const OnlineSoftmax& softmax) const {
    const std::int64_t row_size = std::int64_t{in.kv.heads()} * in.kv.head_size;
    out[query * row_size + d] = attended(in, head, sum, softmax);
  }
};

FORGE_KERNEL(gpu::AttendPromptArgs::kThreads, 2) attend_prompt(gpu::AttendPromptArgs a) {
  constexpr int kRows = gpu::AttendPromptArgs::kTileRows;
  SIMT_SHARED(float, queries, kQueryFloats<kRows>);
  SIMT_SHARED(float, weights, kWeightFloats<kRows>);
  SIMT_SHARED(std::int64_t, values, kKeys);
  SIMT_SHARED(OnlineSoftmax, softmax, kRows);
  const auto index = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.in.counts)[0];
  if (index >= counts.prompt_tiles) return;

  const gpu::PromptTile rows = global(a.tiles)[index];
  const gpu::RowInput input = global(a.in.rows)[rows.first];
  const gpu::KvLayer& kv = a.in.kv;
  const int D = kv.head_size;
  const int head = block().y;
  const std::int64_t width = std::int64_t{kv.heads() + 2 * kv.kv_heads} * D;
  const QueryTile<1> tile{.q = global(a.in.qkv) + rows.first * width + head * D,
                          .q_stride = width,
                          .count = static_cast<int>(rows.count),
                          .length = static_cast<int>(input.position) + 1,
                          .reach = a.in.reach(),
                          .table = input.table,
                          .kv_head = head / kv.group_size};
  const std::int64_t row_size = std::int64_t{kv.heads()} * D;
  const WriteRows write{a.in, global(a.in.out) + rows.first * row_size + head * D, head};
  attend_tile<kRows>(a.in, tile, range_of(tile), {queries, weights, values, softmax}, write);
}

}  // namespace FORGE_KERNELS
