// How the rows of a slab attend. Their bits are the same whichever way; which is faster depends on
// whether they keep the device busy, and on how many rows share what they read.
//
//   decode rows   whole   each over its whole context in one thread block for each head tile
//                 split   with the context split among thread blocks: few rows, long contexts
//   tiles         of rows that are not alone in their sequence, prompt chunks and drafts to verify:
//                 in canonical numerics always whole (attend_prompt). In fast numerics
//                 wide    many rows, in blocks of many (attend_wide)
//                 whole   few, or where blocks of many find no room (attend_spans)
//                 split   likewise, with their contexts split as those of decode rows
//
// Where tiles are split, the decode rows beside them are as well: merge_spans takes all rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device_pass.h"

namespace forge::gpu {

enum class DecodePath : std::uint8_t { whole, split };
enum class TilePath : std::uint8_t { whole, split, wide };

/// About as many thread blocks as today's GPUs have multiprocessors. With more, each of them has
/// something to do anyway.
inline constexpr std::uint32_t kSplitBlocks = 128;

constexpr std::uint32_t split_rows_max(std::uint32_t head_tiles) {
  return kSplitBlocks / head_tiles;
}

/// The launch has `rows` rows, and its longest context `key_segments` segments. split_rows: see
/// Capacity.
constexpr DecodePath decode_path(std::uint32_t rows, std::uint32_t key_segments,
                                 std::uint32_t split_rows) {
  return key_segments > 1 && rows <= split_rows ? DecodePath::split : DecodePath::whole;
}

/// Pairs of a row and a query head of the same KV head (rows x G), in the longest tile, that
/// attend_spans takes: in at most four blocks, which read the same keys. Of more, a block of
/// attend_wide is more than half full. Drafts to verify are fewer in most models.
inline constexpr std::uint32_t kNarrowPairsMax = 64;

/// The paths of a slab in fast numerics.
struct SpanPaths {
  DecodePath decodes;
  TilePath tiles;
  std::uint32_t spans;  ///< of the longest context that is split
};

/// `group_size`: G. `has_wide`: blocks of attend_wide find room.
constexpr SpanPaths span_paths(const SlabShape& shape, std::uint32_t split_rows,
                               std::uint32_t group_size, bool has_wide) {
  const DecodePath decodes = decode_path(shape.counts.decode_rows, shape.key_segments, split_rows);
  if (has_wide && shape.tile_rows * group_size > kNarrowPairsMax) {
    return {decodes, TilePath::wide, shape.key_segments};
  }
  const std::uint32_t spans = std::max(shape.key_segments, shape.tile_segments);
  if (shape.counts.prompt_tiles > 0 &&
      decode_path(shape.counts.rows, spans, split_rows) == DecodePath::split) {
    return {DecodePath::split, TilePath::split, spans};
  }
  return {decodes, TilePath::whole, shape.key_segments};
}

}  // namespace forge::gpu
