// What the kernels of fast attention share (numerics/span_attention.h): rows, queries of 16 bits,
// where the KV of a layer lies, what rows attend over, and what a thread block has in shared
// memory. Legend: kernels.h.
//
// Latents (numerics/latent_attention.h) are keys of one KV head that all heads share, of D = C + R
// components, and the first C of them are their values.
#pragma once

#include <cstdint>

#include "forge/gpu/kernels/attention_input.h"
#include "forge/numerics/half.h"
#include "forge/numerics/span_attention.h"

namespace forge::gpu {

/// A row at position p attends over positions 0 .. p, or the last `window` of these. kv.type is
/// bf16 or f16, D a multiple of 16. Dv is the size of a value.
struct SpanInput {
  const PassCounts* counts;
  const RowInput* rows;
  const void* q;  ///< [T][H D] of kv.type, turned
  void* out;      ///< [T][H Dv] of out_type
  numerics::HalfType out_type;
  int latent_size = 0;  ///< C, a multiple of 8, if keys are latents; 0: they are not
  KvLayer kv;
  float scale;
  int window = 0;                ///< positions that a row sees, its own included; 0: all
  float score_cap = 0;           ///< soft cap of the scores; 0: none
  const float* sinks = nullptr;  ///< [H] or null: a score more of each head, without a value

  /// Dv
  FORGE_HOST_DEVICE int value_size() const { return latent_size > 0 ? latent_size : kv.head_size; }
  /// First position that a row sees, of the `length` positions up to its own.
  FORGE_HOST_DEVICE int first_seen(int length) const {
    return window > 0 && length > window ? length - window : 0;
  }
};

/// The rows of a launch. Each row makes G pairs with the query heads that share a KV head, of which
/// a thread block takes some.
struct SpanTiles {
  /// Rows of a tile, the most: where heads share nothing (G = 1), it fills a block of attend_wide.
  static constexpr int kRowsMax = 128;

  const PromptTile* of = nullptr;  ///< null: each decode row is a tile
  int rows_max = 1;                ///< of a tile of this launch

  /// Blocks of `pairs` that go through a KV head for a tile.
  FORGE_HOST_DEVICE int blocks(int pairs, int group_size) const {
    return ceil_div(rows_max * group_size, pairs);
  }
};

/// Pairs of a warp: rows of a matrix for tensor cores (simt/matrix.h).
inline constexpr int kSpanPairs = 16;

/// Tiles of keys and their values that a block has in shared memory: one is multiplied, one comes.
/// In attend_spans two come, if there is room.
inline constexpr int kSpanStages = 2;
inline constexpr int kSpanStagesMax = 3;

/// Numbers from a row of q, keys or values in shared memory to the next: whole pieces of 128 bytes,
/// in which 16 bytes change places (swizzle).
FORGE_HOST_DEVICE constexpr int span_row_numbers(int head_size) {
  return ceil_div(head_size, 64) * 64;
}

/// Rows of shared memory that a tile takes: keys, and values where they are not of the keys.
FORGE_HOST_DEVICE constexpr int span_tile_rows(bool is_latent) {
  return is_latent ? numerics::kSpanTile : 2 * numerics::kSpanTile;
}

/// Bytes of shared memory that a block has of q of `pairs`, and of `stages` tiles.
constexpr int span_bytes(int pairs, int head_size, bool is_latent = false,
                         int stages = kSpanStages) {
  return (pairs + stages * span_tile_rows(is_latent)) * span_row_numbers(head_size) * 2;
}

}  // namespace forge::gpu
