// What a thread block of attend_spans, attend_wide or attend_latent_spans has in shared memory: q
// of its pairs, and tiles of 64 keys and their values, which come one after the other, each while
// the one before is worked on.
//
//   q         [pairs][D]
//   ring      keys [64][D], values [64][D], of two or three tiles; of latents, which are both, keys
//             alone
//   slots     [512]: where the keys of two spans are. Those of a span are looked up while the one
//             before is worked on
//
//   copies    8 lanes copy 128 consecutive bytes of a row, 16 each. In shared memory a row takes a
//             multiple of 128 bytes, and its 16 bytes number c are at c ^ (row % 8): so the 8 rows
//             of which a load takes 16 bytes each are in different banks
//   code      of its own for heads of 64 and of 128 components whose scores have no soft cap, since
//             loops over components that end where a launch says are not unrolled: each load and
//             step of a tensor core would wait for the one before
#pragma once

#include "span_pairs.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Slots that there is room for.
inline constexpr int kSlots = 2 * numerics::kSpan;

/// Heads of whatever size a launch says, whose scores may have a soft cap.
inline constexpr int kAnyHeads = 0;

/// What a block works on. kLatents: its keys are latents. kHeads: kAnyHeads, or the components of
/// its heads, whose scores have no soft cap.
template <bool kLatents, int kHeads = kAnyHeads>
struct SpanBlock {
  const gpu::SpanInput& in;
  SpanPairs pairs;
  SeenKeys keys;
  sptr<std::uint16_t> q;
  sptr<std::uint16_t> ring;
  sptr<std::uint32_t> slots;  ///< in rows of D numbers from the pool, which has fewer than 2^32
  int stages;                 ///< tiles of the ring

  static constexpr bool kHasLatents = kLatents;
  static constexpr int kHeadSize = kHeads;

  /// The same block, for code of heads of one size.
  template <int kSize>
  FORGE_DEVICE SpanBlock<kLatents, kSize> of_heads() const {
    return {in, pairs, keys, q, ring, slots, stages};
  }
  FORGE_DEVICE int head_size() const { return kHeads != kAnyHeads ? kHeads : in.kv.head_size; }
  FORGE_DEVICE int value_size() const { return kLatents ? in.latent_size : head_size(); }
  FORGE_DEVICE int row_numbers() const { return gpu::span_row_numbers(head_size()); }
  FORGE_DEVICE float score_cap() const { return kHeads != kAnyHeads ? 0 : in.score_cap; }
  /// Where the first 16 bytes of a row of numbers are, and those `chunk` further on; from the
  /// second 16 bytes, an even `chunk`.
  FORGE_DEVICE int place(int row) const { return row * row_numbers() + row % 8 * 8; }
  FORGE_DEVICE static int further(int place, int chunk) {
    return (place ^ chunk % 8 * 8) + chunk / 8 * 64;
  }
  FORGE_DEVICE int place(int row, int chunk) const { return further(place(row), chunk); }
  /// Where the keys of a tile are in the ring, and its values.
  FORGE_DEVICE int keys_of(int tile) const {
    const int stage = stages == 3 ? tile % 3 : tile % 2;
    return stage * gpu::span_tile_rows(kLatents) * row_numbers();
  }
  FORGE_DEVICE int values_of(int tile) const {
    return keys_of(tile) + (kLatents ? 0 : numerics::kSpanTile * row_numbers());
  }
};

/// kHeads of the code for a launch.
FORGE_DEVICE int heads_of_code(const gpu::SpanInput& in) {
  const int size = in.kv.head_size;
  return in.score_cap > 0 || (size != 64 && size != 128) ? kAnyHeads : size;
}

/// The positions of a tile.
FORGE_DEVICE SeenKeys keys_of_tile(int tile) {
  return {tile * numerics::kSpanTile, (tile + 1) * numerics::kSpanTile};
}

/// Starts to copy q of the pairs, of which there is room for a multiple of 16, and zeros for those
/// that are not there: 8 threads a pair.
template <class Block>
FORGE_DEVICE void copy_queries(const Block& b, int room) {
  const int D = b.head_size();
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
  const gpu::KvLayer& kv = b.in.kv;
  const std::uint32_t rows =  // of a block of the pool
      static_cast<std::uint32_t>(kv.block_stride) / static_cast<std::uint32_t>(b.head_size());
  const gptr<const std::uint32_t> table =
      global(kv.tables) + std::uint64_t{b.pairs.table} * kv.table_stride;
  FORGE_ROLLED for (int i = thread(); i < numerics::kSpan; i += threads()) {
    const int position = span * numerics::kSpan + i;
    if (!b.keys.has(position)) continue;
    const int index = position / kv.block_size;
    const std::uint32_t first = table[index] * rows;
    const int row = 2 * kv.block_size * block().y + position - index * kv.block_size;
    b.slots[position % kSlots] = first + static_cast<std::uint32_t>(row);
  }
}

/// Starts to copy keys and values of a tile, zeros for those that no row sees.
template <class Block>
FORGE_DEVICE void copy_keys(const Block& b, int tile) {
  const gpu::KvLayer& kv = b.in.kv;
  const gptr<const std::uint16_t> pool = global(static_cast<const std::uint16_t*>(kv.pool));
  const std::int64_t plane = std::int64_t{b.head_size()} * kv.block_size;  // keys; values likewise
  const int of_row = thread() % 8;
  FORGE_ROLLED for (int row = thread() / 8; row < numerics::kSpanTile; row += threads() / 8) {
    const int position = tile * numerics::kSpanTile + row;
    const bool there = b.keys.has(position);
    std::int64_t slot = 0;
    if (there) slot = std::int64_t{b.slots[position % kSlots]} * b.head_size();
    for (int first = 0; first < b.head_size() / 8; first += 8) {
      const int chunk = first + of_row;
      if (chunk >= b.head_size() / 8) break;
      const int place = b.place(row, chunk);
      copy_async(b.ring + b.keys_of(tile) + place, pool + slot + chunk * 8, there);
      if constexpr (!Block::kHasLatents) {
        copy_async(b.ring + b.values_of(tile) + place, pool + slot + plane + chunk * 8, there);
      }
    }
  }
}

/// Begins a tile, if there is one.
template <class Block>
FORGE_DEVICE void start_tile(const Block& b, int tile) {
  if (keys_of_tile(tile).first < b.keys.end) copy_keys(b, tile);
  commit_copies();
}

/// Goes through the tiles of the block's keys: add(tile) for each, and end_span() after the last of
/// each span. `room`: pairs, for q. All threads take part.
template <class Add, class EndSpan, class Block>
FORGE_DEVICE void for_each_tile(const Block& b, int room, const Add& add, const EndSpan& end_span) {
  constexpr int kTilesOfSpan = numerics::kSpan / numerics::kSpanTile;
  const int first = b.keys.first / numerics::kSpanTile;
  find_slots(b, first / kTilesOfSpan);
  if (first % kTilesOfSpan != 0) find_slots(b, first / kTilesOfSpan + 1);
  copy_queries(b, room);
  sync_block();  // the slots are there
  for (int i = 0; i < b.stages - 1; ++i) start_tile(b, first + i);
  FORGE_ROLLED for (int tile = first; keys_of_tile(tile).first < b.keys.end; ++tile) {
    if (b.stages == 3) {
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    sync_block();  // the tile is there, and the tile before is done with
    start_tile(b, tile + b.stages - 1);
    if (tile % kTilesOfSpan == 0) find_slots(b, tile / kTilesOfSpan + 1);
    add(tile);
    const int end = keys_of_tile(tile).end;
    if (end >= b.keys.end || end % numerics::kSpan == 0) end_span();
  }
}

}  // namespace FORGE_KERNELS
