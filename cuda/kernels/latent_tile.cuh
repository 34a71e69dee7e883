// Heads of one row over a range of latents, segment after segment: the step that attend_latent and
// attend_latent_split share. Keys and values are the same row of C + R numbers.
//
//   scores    a thread a position: weights[h][j] = (q_h . c_j) * scale     | barrier
//   weights   a warp a head:       attend_segment.cuh                        | barrier
//   sums      a thread a component, then further ones: chain over j of weights[h][j] * c_j[d]
//
// Scores want component after component of many rows, but a row lies in one piece. So a warp copies
// 16 components of its 32 rows at a time to shared memory, as floats, consecutive ones of each, and
// each lane reads its own row there. Queries are too large for shared memory (16 heads of 576
// floats) and come in strips of 64 components.
//
// Bits: numerics/latent_attention.h, for the reasons of attend_segment.cuh. Strips and copies
// change where an operand is read, not the order of a chain.
#pragma once

#include "attend_segment.cuh"
#include "forge/gpu/kernels/latent_input.h"
#include "latent_row.cuh"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr int kStripSize = 64;   ///< components of queries in shared memory
inline constexpr int kCopiedSize = 16;  ///< components of latents in shared memory

/// Floats from a component of the queries, from a copied row, to the next. 16 bytes beyond the
/// size: aligned for load4, and 8 neighbours lie in different banks.
inline constexpr int kQueryStride = gpu::kLatentTileHeads + 4;
inline constexpr int kCopiedStride = kCopiedSize + 4;

/// Heads of a row, and the positions [begin, end) that they attend over together, from a multiple
/// of kKeys on.
struct LatentTile {
  gptr<const float> q;    ///< head n of the tile: [C + R] at q + n * q_stride
  std::int64_t q_stride;  ///< floats
  int count;              ///< number of heads, 1 .. kLatentTileHeads
  int begin;
  int end;
  std::uint32_t table;  ///< row of block tables
};

/// Positions first .. first + size() - 1, up to kKeys.
struct LatentSegment {
  const LatentTile& tile;
  int first;

  FORGE_DEVICE int size() const { return tile.end - first < kKeys ? tile.end - first : kKeys; }
};

/// The shared memory of the kernels.
struct LatentMemory {
  sptr<float> queries;          ///< [kStripSize][kQueryStride]
  sptr<float> copied;           ///< [kKeys][kCopiedStride], 32 rows a warp
  sptr<float> weights;          ///< [heads][kKeys]: scores, then softmax weights
  sptr<std::int64_t> rows;      ///< [kKeys]: where the row of each position lies
  sptr<OnlineSoftmax> softmax;  ///< [heads]
};

/// Copies a strip of the queries of all heads to shared memory, zero beyond the tile's count.
template <int kHeads>
FORGE_DEVICE void stage_strip(const LatentTile& tile, int first, int size, sptr<float> queries) {
  for (int i = thread(); i < kHeads * size; i += threads()) {
    const int head = i / size;
    const int d = i - head * size;
    queries[d * kQueryStride + head] =
        head < tile.count ? tile.q[head * tile.q_stride + first + d] : 0.0f;
  }
}

/// Copies components first .. first + size - 1 of the warp's rows; rows that the segment does not
/// have become zeros.
template <class Stored>
FORGE_DEVICE void copy_rows(gptr<const Stored> pool, const LatentSegment& segment, int first,
                            int size, const LatentMemory& memory) {
  constexpr int kRowsAtOnce = kWarpSize / kCopiedSize;
  constexpr int kInFlight = 8;
  const int d = lane() % kCopiedSize;
  const int last = (warp() + 1) * kWarpSize;
  FORGE_ROLLED for (int j = last - kWarpSize + lane() / kCopiedSize; j < last;
                    j += kInFlight * kRowsAtOnce) {
    float loaded[kInFlight];
    for (int n = 0; n < kInFlight; ++n) {
      loaded[n] = 0.0f;
      if (j + n * kRowsAtOnce >= segment.size() || d >= size) continue;
      const std::int64_t row = memory.rows[j + n * kRowsAtOnce];
      const Stored component = pool[row + first + d];
      loaded[n] = numerics::widened(component);
    }
    for (int n = 0; n < kInFlight; ++n) {
      memory.copied[(j + n * kRowsAtOnce) * kCopiedStride + d] = loaded[n];
    }
  }
}

/// dots[h] is continued over `size` components of this thread's row.
template <int kHeads>
FORGE_DEVICE void add_components(sptr<const float> queries, sptr<const float> row, int size,
                                 float (&dots)[kHeads]) {
  int d = 0;
  FORGE_ROLLED for (; d + 4 <= size; d += 4) {
    const Float4 c = load4(row + d);
    add_products<kHeads>(queries + d * kQueryStride, c.x, dots);
    add_products<kHeads>(queries + (d + 1) * kQueryStride, c.y, dots);
    add_products<kHeads>(queries + (d + 2) * kQueryStride, c.z, dots);
    add_products<kHeads>(queries + (d + 3) * kQueryStride, c.w, dots);
  }
  FORGE_ROLLED for (; d < size; ++d) {
    const float c = row[d];
    add_products<kHeads>(queries + d * kQueryStride, c, dots);
  }
}

/// Computes for position thread() of the segment its score with each head, and where its row lies.
template <class Stored, int kHeads>
FORGE_DEVICE void score_latents(const gpu::LatentAttentionInput& in, const LatentSegment& segment,
                                const LatentMemory& memory) {
  const int j = thread();
  const int D = in.latents.row_size();
  const bool seen = j < segment.size();
  if (seen) memory.rows[j] = row_of(in.latents, segment.tile.table, segment.first + j);
  float dots[kHeads] = {};
  for (int strip = 0; strip < D; strip += kStripSize) {
    const int end = strip + kStripSize < D ? strip + kStripSize : D;
    if (strip > 0) sync_block();  // the strip before is done with
    stage_strip<kHeads>(segment.tile, strip, end - strip, memory.queries);
    sync_block();
    for (int d = strip; d < end; d += kCopiedSize) {
      const int size = end - d < kCopiedSize ? end - d : kCopiedSize;
      if (d > strip) sync_warp();
      copy_rows(numbers_of<const Stored>(in.latents), segment, d, size, memory);
      sync_warp();
      add_components<kHeads>(memory.queries + (d - strip) * kQueryStride,
                             memory.copied + j * kCopiedStride, size, dots);
    }
  }
  if (!seen) return;  // heads that the tile does not have score 0, which nobody wants
  for (int n = 0; n < kHeads; ++n) memory.weights[n * kKeys + j] = dots[n] * in.scale;
}

/// sums[h] = a_c[d] of head h.
template <class Stored, int kHeads>
FORGE_DEVICE void sum_latents(gptr<const Stored> pool, const LatentSegment& segment, int d,
                              const LatentMemory& memory, float (&sums)[kHeads]) {
  constexpr int kInFlight = 8;
  const int count = segment.size();
  for (float& sum : sums) sum = 0.0f;
  int j = 0;
  FORGE_ROLLED for (; j + kInFlight <= count; j += kInFlight) {
    float c[kInFlight];
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t row = memory.rows[j + i];
      const Stored component = pool[row + d];
      c[i] = numerics::widened(component);
    }
    for (int n = 0; n < kHeads; ++n) {
      for (int i = 0; i < kInFlight; i += 4) {
        const Float4 w = load4(memory.weights + n * kKeys + j + i);
        sums[n] = numerics::fma(w.x, c[i], sums[n]);
        sums[n] = numerics::fma(w.y, c[i + 1], sums[n]);
        sums[n] = numerics::fma(w.z, c[i + 2], sums[n]);
        sums[n] = numerics::fma(w.w, c[i + 3], sums[n]);
      }
    }
  }
  FORGE_ROLLED for (; j < count; ++j) {
    const std::int64_t row = memory.rows[j];
    const Stored component = pool[row + d];
    const float c = numerics::widened(component);
    for (int n = 0; n < kHeads; ++n) {
      const float w = memory.weights[n * kKeys + j];
      sums[n] = numerics::fma(w, c, sums[n]);
    }
  }
}

/// Calls write(d, sums, softmax, first) for each component, after each segment: a_c[d] and the
/// softmax of each head of the tile, and the segment's first position.
template <int kHeads, class Write>
FORGE_DEVICE void attend_latents_by(const gpu::LatentAttentionInput& in, const LatentTile& tile,
                                    const LatentMemory& memory, const Write& write) {
  for (int first = tile.begin; first < tile.end; first += kKeys) {
    const LatentSegment segment{tile, first};
    if (first > tile.begin) sync_block();  // the segment before is done with
    with_stored(in.latents.type,
                [&](auto stored) { score_latents<decltype(stored), kHeads>(in, segment, memory); });
    sync_block();
    for (int head = warp(); head < tile.count; head += threads() / kWarpSize) {
      const SegmentSoftmax own = weigh_scores(memory.weights + head * kKeys, 0, segment.size());
      take_in(own, first == tile.begin, memory.softmax + head);
    }
    sync_block();
    FORGE_ROLLED for (int d = thread(); d < in.latents.latent_size; d += threads()) {
      float sums[kHeads];
      with_stored(in.latents.type, [&](auto stored) {
        sum_latents(numbers_of<const decltype(stored)>(in.latents), segment, d, memory, sums);
      });
      write(d, sums, memory.softmax, first);
    }
  }
}

/// Calls attend_latents_by with the smallest of 1, 4 and 16 heads that holds those of the tile.
template <int kHeads = 1, class Write>
FORGE_DEVICE void attend_latents(const gpu::LatentAttentionInput& in, const LatentTile& tile,
                                 const LatentMemory& memory, const Write& write) {
  if constexpr (kHeads < gpu::kLatentTileHeads) {
    if (tile.count > kHeads) {
      attend_latents<4 * kHeads>(in, tile, memory, write);
      return;
    }
  }
  attend_latents_by<kHeads>(in, tile, memory, write);
}

/// Tile `index` of a row's heads, over the row's whole context.
FORGE_DEVICE LatentTile latent_queries(const gpu::LatentAttentionInput& in, std::uint32_t row,
                                       int index) {
  const gpu::RowInput input = global(in.rows)[row];
  const int first = index * gpu::kLatentTileHeads;
  const int left = in.heads - first;
  const int D = in.latents.row_size();
  return {.q = global(in.queries) + (std::int64_t{row} * in.heads + first) * D,
          .q_stride = D,
          .count = left < gpu::kLatentTileHeads ? left : gpu::kLatentTileHeads,
          .begin = 0,
          .end = static_cast<int>(input.position) + 1,
          .table = input.table};
}

}  // namespace FORGE_KERNELS
