// How the decode rows of a slab attend: each over its whole context in one thread block for each
// head tile, or with the context split among thread blocks. The bits are the same; which is faster
// depends on whether the rows alone keep the device busy.
//
// Rows that are not alone in their sequence (prompt chunks, drafts to verify) always attend in
// tiles (attend_prompt).
#pragma once

#include <cstdint>

namespace forge::gpu {

enum class DecodePath : std::uint8_t { whole, split };

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

}  // namespace forge::gpu
