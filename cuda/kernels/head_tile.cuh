// The tile of a decode row: up to kTileHeads query heads that share a KV head.
#pragma once

#include "attend_segment.cuh"

namespace FORGE_KERNELS {

struct HeadTile {
  int kv_head;
  int first;  ///< query head
  int count;
};

/// Tile `index` of the head_tiles(kv) tiles of a row.
FORGE_DEVICE HeadTile head_tile(const gpu::KvLayer& kv, int index) {
  const int tiles = gpu::ceil_div(kv.group_size, gpu::kTileHeads);  // of a KV head
  const int kv_head = index / tiles;
  const int in_group = (index - kv_head * tiles) * gpu::kTileHeads;
  const int left = kv.group_size - in_group;
  return {kv_head, kv_head * kv.group_size + in_group,
          left < gpu::kTileHeads ? left : gpu::kTileHeads};
}

/// The queries of these heads in row `row`, which all see the row's whole context.
FORGE_DEVICE QueryTile<0> queries_of(const gpu::AttentionInput& in, const HeadTile& heads,
                                     std::uint32_t row) {
  const gpu::RowInput input = global(in.rows)[row];
  const std::int64_t width = in.kv.heads() + 2 * in.kv.kv_heads;
  return {.q = global(in.qkv) + (row * width + heads.first) * in.kv.head_size,
          .q_stride = in.kv.head_size,
          .count = heads.count,
          .length = static_cast<int>(input.position) + 1,
          .reach = in.reach(),
          .table = input.table,
          .kv_head = heads.kv_head};
}

}  // namespace FORGE_KERNELS
