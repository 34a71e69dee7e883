// What a thread block of attend_spans, attend_wide or attend_latent_spans attends with, and over
// what: pairs of a row and a query head, which share a KV head, and the positions that any of their
// rows sees.
//
// The pairs of a tile of rows are numbered row after row: with G query heads of a KV head,
//
//   pair       0   1  ...  G-1    G  ...  2G-1   2G  ...
//   row        0   0         0    1          1    2          of the tile
//   head       0   1       G-1    0        G-1    0          of the group
//
// and blocks take 16, 32, 64 or 128 of them each, whatever G is: they are the rows of a matrix for
// the tensor cores, and those of it that are not there are zeros.
#pragma once

#include "forge/gpu/kernels/span_input.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

/// Positions [first, end).
struct SeenKeys {
  int first = 0;
  int end = 0;

  FORGE_DEVICE bool has(int position) const { return position >= first && position < end; }
  FORGE_DEVICE bool has_all(const SeenKeys& keys) const {
    return keys.first >= first && keys.end <= end;
  }
  FORGE_DEVICE bool meets(const SeenKeys& keys) const {
    return (keys.first > first ? keys.first : first) < (keys.end < end ? keys.end : end);
  }
};

/// The pairs of a block, numbered from 0. If count is 0, there is nothing else.
struct SpanPairs {
  int count = 0;
  int first = 0;            ///< in the tile
  std::int64_t row = 0;     ///< first of the tile, in the pass
  int length = 0;           ///< positions up to that row's own
  std::uint32_t table = 0;  ///< row of the block tables

  FORGE_DEVICE int row_of(int pair, int group_size) const { return (first + pair) / group_size; }
  FORGE_DEVICE int head_of(int pair, int group_size) const {
    const int of_group = (first + pair) % group_size;
    return block().y * group_size + of_group;
  }
  /// Number of the pair among those of all rows, [T][H].
  FORGE_DEVICE std::int64_t index_of(int pair, const gpu::KvLayer& kv) const {
    return (row + row_of(pair, kv.group_size)) * kv.heads() + head_of(pair, kv.group_size);
  }
  /// What the pair's row sees: nothing, if there is no such pair.
  FORGE_DEVICE SeenKeys seen_by(int pair, const gpu::SpanInput& in) const {
    if (pair >= count) return {};
    const int own = length + row_of(pair, in.kv.group_size);
    return {in.first_seen(own), own};
  }
  /// What any row of the pairs from `pair` on sees, `most` of them. Rows are consecutive, and so is
  /// what they see.
  FORGE_DEVICE SeenKeys seen_from(int pair, int most, const gpu::SpanInput& in) const {
    if (pair >= count) return {};
    const int last = pair + most < count ? pair + most - 1 : count - 1;
    return {seen_by(pair, in).first, seen_by(last, in).end};
  }
};

/// Those of block `index`, which takes `most`. A launch has blocks for more rows than there are.
FORGE_DEVICE SpanPairs pairs_of_block(const gpu::SpanInput& in, const gpu::SpanTiles& tiles,
                                      int most, int index) {
  const int blocks = tiles.blocks(most, in.kv.group_size);
  const auto tile = static_cast<std::uint32_t>(index / blocks);
  const gpu::PassCounts counts = global(in.counts)[0];
  if (tile >= (tiles.of == nullptr ? counts.decode_rows : counts.prompt_tiles)) return {};
  gpu::PromptTile rows{.first = tile, .count = 1};
  if (tiles.of != nullptr) rows = global(tiles.of)[tile];
  const int first = index % blocks * most;
  const int count = static_cast<int>(rows.count) * in.kv.group_size - first;
  if (count <= 0) return {};
  const gpu::RowInput input = global(in.rows)[rows.first];
  return {.count = count < most ? count : most,
          .first = first,
          .row = rows.first,
          .length = static_cast<int>(input.position) + 1,
          .table = input.table};
}

}  // namespace FORGE_KERNELS
