// What a thread block of attend_spans, attend_wide or attend_latent_spans has in shared memory: q
// of its pairs, and tiles of 64 keys and their values, which come one after the other, each while
// the one before is worked on.
//
//   q         [pairs][D]
//   ring      keys [64][D], values [64][D], and once more; of latents, which are both, keys alone
//   slots     [256]: where the keys of a span are. They are looked up once a span
//
//   copies    8 lanes copy 128 consecutive bytes of a row, 16 each. In shared memory a row takes a
//             multiple of 128 bytes, and its 16 bytes number c are at c ^ (row % 8): so the 8 rows
//             of which a load takes 16 bytes each are in different banks
#pragma once

#include "kv_head.cuh"
#include "span_pairs.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// What a block works on. kLatents: its keys are latents.
template <bool kLatents>
struct SpanBlock {
  const gpu::SpanInput& in;
  SpanPairs pairs;
  SeenKeys keys;
  sptr<std::uint16_t> q;
  sptr<std::uint16_t> ring;
  sptr<std::int64_t> slots;  ///< in numbers from the pool

  static constexpr bool kHasLatents = kLatents;

  FORGE_DEVICE int value_size() const { return kLatents ? in.latent_size : in.kv.head_size; }
  FORGE_DEVICE int row_numbers() const { return gpu::span_row_numbers(in.kv.head_size); }
  /// Where 16 bytes of a row of numbers are.
  FORGE_DEVICE int place(int row, int chunk) const {
    return row * row_numbers() + (chunk ^ row % 8) * 8;
  }
  FORGE_DEVICE sptr<std::uint16_t> keys_of(int tile) const {
    return ring + tile % gpu::kSpanStages * gpu::span_tile_rows(kLatents) * row_numbers();
  }
  FORGE_DEVICE sptr<std::uint16_t> values_of(int tile) const {
    return keys_of(tile) + (kLatents ? 0 : numerics::kSpanTile * row_numbers());
  }
};

/// The positions of a tile.
FORGE_DEVICE SeenKeys keys_of_tile(int tile) {
  return {tile * numerics::kSpanTile, (tile + 1) * numerics::kSpanTile};
}

/// Starts to copy q of the pairs, of which there is room for a multiple of 16, and zeros for those
/// that are not there: 8 threads a pair.
template <class Block>
FORGE_DEVICE void copy_queries(const Block& b, int room) {
  const int D = b.in.kv.head_size;
  for (int pair = thread() / 8; pair < room; pair += threads() / 8) {
    const bool there = pair < b.pairs.count;
    const gptr<const std::uint16_t> q = global(static_cast<const std::uint16_t*>(b.in.q)) +
                                        (there ? b.pairs.index_of(pair, b.in.kv) * D : 0);
    for (int chunk = thread() % 8; chunk < D / 8; chunk += 8) {
      copy_async(b.q + b.place(pair, chunk), q + chunk * 8, there);
    }
  }
}

/// Looks up where the keys of a span are, those that are seen.
template <class Block>
FORGE_DEVICE void find_slots(const Block& b, int span) {
  FORGE_ROLLED for (int i = thread(); i < numerics::kSpan; i += threads()) {
    const int position = span * numerics::kSpan + i;
    if (!b.keys.has(position)) continue;
    b.slots[i] = slot_of(b.in.kv, b.pairs.table, block().y, position).key;
  }
}

/// Starts to copy keys and values of a tile, zeros for those that no row sees.
template <class Block>
FORGE_DEVICE void copy_keys(const Block& b, int tile) {
  const gpu::KvLayer& kv = b.in.kv;
  const gptr<const std::uint16_t> pool = global(static_cast<const std::uint16_t*>(kv.pool));
  const std::int64_t plane = std::int64_t{kv.head_size} * kv.block_size;  // keys; values likewise
  FORGE_ROLLED for (int row = thread() / 8; row < numerics::kSpanTile; row += threads() / 8) {
    const int position = tile * numerics::kSpanTile + row;
    const bool there = b.keys.has(position);
    std::int64_t slot = 0;
    if (there) slot = b.slots[position % numerics::kSpan];
    FORGE_ROLLED for (int chunk = thread() % 8; chunk < kv.head_size / 8; chunk += 8) {
      const int place = b.place(row, chunk);
      copy_async(b.keys_of(tile) + place, pool + slot + chunk * 8, there);
      if constexpr (!Block::kHasLatents) {
        copy_async(b.values_of(tile) + place, pool + slot + plane + chunk * 8, there);
      }
    }
  }
}

/// Begins a tile, if there is one: after a barrier where it is the first of a span.
template <class Block>
FORGE_DEVICE void start_tile(const Block& b, int tile, bool is_first) {
  constexpr int kTilesOfSpan = numerics::kSpan / numerics::kSpanTile;
  if (keys_of_tile(tile).first >= b.keys.end) return;
  if (is_first || tile % kTilesOfSpan == 0) {
    find_slots(b, tile / kTilesOfSpan);
    sync_block();
  }
  copy_keys(b, tile);
  commit_copies();
}

/// Goes through the tiles of the block's keys: add(tile) for each, and end_span() after the last of
/// each span. `room`: pairs, for q. All threads take part.
template <class Add, class EndSpan, class Block>
FORGE_DEVICE void for_each_tile(const Block& b, int room, const Add& add, const EndSpan& end_span) {
  const int first = b.keys.first / numerics::kSpanTile;
  copy_queries(b, room);
  start_tile(b, first, true);
  FORGE_ROLLED for (int tile = first; keys_of_tile(tile).first < b.keys.end; ++tile) {
    wait_copies<0>();
    sync_block();  // the tile is there, and the tile before is done with
    start_tile(b, tile + 1, false);
    add(tile);
    const int end = keys_of_tile(tile).end;
    if (end >= b.keys.end || end % numerics::kSpan == 0) end_span();
  }
}

}  // namespace FORGE_KERNELS
