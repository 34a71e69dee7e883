// The formulas of attend_spans, merge_spans, attend_wide and attend_latent_spans, after
// cuda/kernels/attend_spans.cuh, attend_wide.cuh and attend_latent_spans.cuh.
#include "forge/numerics/span_attention.h"
#include "kernel_chain.h"

namespace forge::sim {
namespace {

using gpu::KernelLaunch;
using gpu::SpanInput;

constexpr std::uint64_t kHalf = 2;  // bytes
constexpr std::uint64_t kSpan = numerics::kSpan;
constexpr std::uint64_t kTile = numerics::kSpanTile;
constexpr std::uint64_t kPairs = gpu::kSpanPairs;

constexpr std::uint64_t kExp2 = 10;
constexpr std::uint64_t kExp2Flops = 13;
constexpr std::uint64_t kStep = 8;  ///< one of a tensor core, about 33 cycles

/// Positions [first, end).
struct Keys {
  std::uint64_t first = 0;
  std::uint64_t end = 0;

  std::uint64_t first_span() const { return first / kSpan; }
  std::uint64_t spans() const { return chain::turns(end, kSpan) - first_span(); }
  std::uint64_t tiles() const { return chain::turns(end, kTile) - first / kTile; }
  Keys of_span(std::uint64_t span) const {
    return {std::max(first, span * kSpan), std::min(end, (span + 1) * kSpan)};
  }
};

/// The sizes of one layer's attention. Legend: gpu/kernels.h.
struct SpanSizes {
  explicit SpanSizes(const SpanInput& in)
      : key_size(size_of(in.kv.head_size)),
        value_size(size_of(in.value_size())),
        has_latents(in.latent_size > 0),
        block_size(size_of(in.kv.block_size)),
        kv_heads(size_of(in.kv.kv_heads)),
        group_size(size_of(in.kv.group_size)),
        heads(size_of(in.kv.heads())),
        is_capped(in.score_cap > 0) {}

  /// Bytes of a head of q, of one of out, and of what is left of a span.
  std::uint64_t query() const { return key_size * kHalf; }
  std::uint64_t result() const { return value_size * kHalf; }
  std::uint64_t partial() const { return (value_size + 2) * kFloat; }
  /// Keys and values of one KV head, and the table entries to them.
  std::uint64_t kv(const Keys& keys) const {
    return (keys.end - keys.first) * (has_latents ? key_size : key_size + value_size) * kHalf;
  }
  std::uint64_t table(const Keys& keys) const {
    return ((keys.end - 1) / block_size - keys.first / block_size + 1) * kWord;
  }
  /// Of 16 pairs that go through a tile: scores, weights, and what sums are multiplied by, where
  /// `copies` warps each make the scores.
  std::uint64_t flops_of_tile(std::uint64_t copies) const {
    const std::uint64_t score = 3 + kExp2Flops + (is_capped ? chain::kSoftCapFlops : 0);
    return kPairs * (copies * kTile * score + value_size + 1);
  }
  /// Of the same on tensor cores: scores, sums, and in each of `warps` the denominator.
  std::uint64_t matrix_flops_of_tile(std::uint64_t copies, std::uint64_t warps) const {
    constexpr std::uint64_t kOnes = 8;  // columns
    return 2 * kPairs * kTile * (copies * key_size + value_size + warps * kOnes);
  }
  /// Of a merge of one span into one head.
  std::uint64_t flops_of_merge() const { return 3 * value_size + 2 * kExp2Flops + 3; }

  std::uint64_t key_size;
  std::uint64_t value_size;
  bool has_latents;
  std::uint64_t block_size;
  std::uint64_t kv_heads;
  std::uint64_t group_size;
  std::uint64_t heads;
  bool is_capped;
};

/// What the rows [first, last] of the pass see, of which each sees no less far than those before.
Keys seen(const SpanInput& in, std::uint64_t first, std::uint64_t last) {
  const int length = static_cast<int>(in.rows[first].position) + 1;
  return {size_of(in.first_seen(length)), std::uint64_t{in.rows[last].position} + 1};
}

/// Pairs first .. first + count - 1 of a tile.
struct PairRange {
  std::uint64_t first;
  std::uint64_t count;
};

/// What a launch of attend_spans, attend_wide or attend_latent_spans does.
struct SpanLaunch {
  const SpanInput& in;
  gpu::SpanTiles tiles;
  std::uint64_t pairs;         ///< of a block
  std::uint64_t score_copies;  ///< warps that each make all scores of 16 pairs
  std::uint64_t warps;         ///< that have the same 16 pairs
  bool leaves_out;             ///< 16 pairs leave out what they do not see of the block's keys
  bool merged;                 ///< spans are, in the kernel
  std::uint64_t blocks_z;

  bool in_tiles() const { return tiles.of != nullptr; }
  gpu::PromptTile tile(std::uint64_t t) const {
    return in_tiles() ? tiles.of[t] : gpu::PromptTile{static_cast<std::uint32_t>(t), 1};
  }
  /// What the pairs [first, first + count) of a tile see.
  Keys keys_of(const gpu::PromptTile& tile, std::uint64_t first, std::uint64_t count) const {
    const std::uint64_t group = size_of(in.kv.group_size);
    return seen(in, tile.first + first / group, tile.first + (first + count - 1) / group);
  }
};

/// What a thread waits for: where the first span is, the first tile, and the work on tiles, of
/// whose scores it has `scores`; the copy of a tile runs beside the work on the one before, and so
/// do the loads of where the next span is.
void add_span_chain(KernelWork& w, const SpanSizes& s, const Keys& keys, std::uint64_t scores,
                    std::uint64_t barriers) {
  const std::uint64_t spans = keys.spans();
  const std::uint64_t score = chain::side_by_side(kExp2 + 3, scores) + 2 * (chain::kShuffle + 1) +
                              (s.is_capped ? chain::side_by_side(chain::kSoftCap, scores) : 0);
  const std::uint64_t tile = s.key_size / numerics::kStepProducts * kStep + score + kExp2 +
                             kTile / numerics::kStepProducts * kStep +
                             barriers * (chain::kBarrier + chain::kSharedLoad);
  w.chain_loads += 2;
  w.chain_operations += keys.tiles() * tile + spans * (kExp2 + 3);
}

/// The operations of a block with the pairs [first, first + count) of a tile.
void add_flops(KernelWork& w, const SpanSizes& s, const SpanLaunch& launch,
               const gpu::PromptTile& tile, const PairRange& pairs) {
  const auto [first, count] = pairs;
  const Keys of_block = launch.keys_of(tile, first, count);
  if (launch.merged) w.flops += s.kv_heads * of_block.spans() * count * s.flops_of_merge();
  for (std::uint64_t i = 0; i < (launch.leaves_out ? count : launch.pairs); i += kPairs) {
    const std::uint64_t tiles =
        launch.leaves_out ? launch.keys_of(tile, first + i, std::min(kPairs, count - i)).tiles()
                          : of_block.tiles();
    w.flops += s.kv_heads * tiles * s.flops_of_tile(launch.score_copies);
    w.matrix_flops +=
        s.kv_heads * tiles * s.matrix_flops_of_tile(launch.score_copies, launch.warps);
  }
}

/// Spans that the rows of the pairs [first, first + count) of a tile see, of all pairs together.
std::uint64_t spans_of_pairs(const SpanLaunch& launch, const gpu::PromptTile& tile,
                             std::uint64_t first, std::uint64_t count) {
  std::uint64_t spans = 0;
  for (std::uint64_t i = first; i < first + count; ++i) spans += launch.keys_of(tile, i, 1).spans();
  return spans;
}

/// The blocks of a tile of rows. Each reads the keys that its own pairs see.
void add_blocks(KernelWork& w, const SpanSizes& s, const SpanLaunch& launch,
                const gpu::PromptTile& tile) {
  const std::uint64_t tile_bytes = launch.in_tiles() ? sizeof(gpu::PromptTile) : 0;
  const auto blocks =
      size_of(launch.tiles.blocks(static_cast<int>(launch.pairs), launch.in.kv.group_size));
  w.block_bytes += s.kv_heads * blocks * launch.blocks_z * tile_bytes;
  const std::uint64_t pairs = tile.count * s.group_size;
  for (std::uint64_t first = 0; first < pairs; first += launch.pairs) {
    const std::uint64_t count = std::min(launch.pairs, pairs - first);
    const Keys keys = launch.keys_of(tile, first, count);
    std::uint64_t bytes = launch.blocks_z * kRow + s.kv(keys);
    if (launch.merged) {
      bytes += count * (s.query() + s.result()) + s.table(keys);
      if (launch.in.sinks != nullptr) bytes += std::min(count, s.group_size) * kFloat;
    } else {
      bytes += keys.spans() * count * s.query() +
               spans_of_pairs(launch, tile, first, count) * s.partial();
      for (std::uint64_t span = keys.first_span(); span * kSpan < keys.end; ++span) {
        bytes += s.table(keys.of_span(span));
      }
    }
    w.block_bytes += s.kv_heads * bytes;
    add_flops(w, s, launch, tile, {first, count});
  }
}

/// Bytes, operations and the longest of the tiles' keys, of the first `count` tiles.
Keys add_tiles(KernelWork& w, const SpanSizes& s, const SpanLaunch& launch, std::uint64_t count) {
  const SpanInput& in = launch.in;
  Keys longest;
  Keys of_sequence;  // what the tiles of one sequence, which follow one another, read together
  for (std::uint64_t t = 0; t < count; ++t) {
    const gpu::PromptTile tile = launch.tile(t);
    const std::uint64_t pairs = tile.count * s.group_size;
    const Keys keys = launch.keys_of(tile, 0, pairs);
    if (of_sequence.end == 0) of_sequence.first = keys.first;
    of_sequence.end = keys.end;
    if (t + 1 == count || in.rows[launch.tile(t + 1).first].table != in.rows[tile.first].table) {
      w.bytes_read += s.table(of_sequence) + s.kv_heads * s.kv(of_sequence);
      of_sequence = {};
    }
    const std::uint64_t vectors = tile.count * s.heads;
    w.bytes_read += (launch.in_tiles() ? sizeof(gpu::PromptTile) : 0) + kRow + vectors * s.query();
    w.bytes_written += launch.merged
                           ? vectors * s.result()
                           : s.kv_heads * spans_of_pairs(launch, tile, 0, pairs) * s.partial();
    add_blocks(w, s, launch, tile);
    if (keys.tiles() > longest.tiles()) longest = keys;
  }
  w.chain_loads = launch.in_tiles() ? 3 : 2;
  if (!launch.merged) return longest;
  if (in.sinks != nullptr && count > 0) w.bytes_read += s.heads * kFloat;
  w.chain_operations += chain::kDivide;
  return longest;
}

/// Of a launch for `launched` tiles, or decode rows.
std::uint64_t tiles_present(const SpanLaunch& launch, int launched) {
  const gpu::PassCounts& counts = *launch.in.counts;
  return present(launched, launch.in_tiles() ? counts.prompt_tiles : counts.decode_rows);
}

/// Of attend_spans or attend_latent_spans: four warps share 16 pairs.
template <class Args>
KernelWork spans_work(const Args& args, const KernelLaunch& launch) {
  constexpr std::uint64_t kWarps = 4;
  const SpanSizes s(args.in);
  const SpanLaunch spans{.in = args.in,
                         .tiles = args.tiles,
                         .pairs = size_of(args.pairs()),
                         .score_copies = 1,
                         .warps = kWarps,
                         .leaves_out = false,
                         .merged = args.partial == nullptr,
                         .blocks_z = size_of(launch.shape.grid.z)};
  KernelWork w;
  const Keys longest =
      add_tiles(w, s, spans, tiles_present(spans, launch.shape.grid.x / args.pair_tiles()));
  constexpr std::uint64_t kScores = kPairs * kTile / kWarps / simt::kWarpSize;
  if (spans.merged) {
    add_span_chain(w, s, longest, kScores, 3);
  } else {
    add_span_chain(w, s, {0, std::min(longest.end, kSpan)}, kScores, 3);
  }
  return w;
}

}  // namespace

KernelWork work(const gpu::AttendSpansArgs& args, const KernelLaunch& launch) {
  return spans_work(args, launch);
}

KernelWork work(const gpu::AttendLatentSpansArgs& args, const KernelLaunch& launch) {
  return spans_work(args, launch);
}

KernelWork work(const gpu::AttendWideArgs& args, const KernelLaunch& launch) {
  const SpanSizes s(args.in);
  const std::uint64_t warps = size_of(args.column_warps());
  const SpanLaunch wide{.in = args.in,
                        .tiles = args.tiles,
                        .pairs = size_of(args.pairs()),
                        .score_copies = warps,
                        .warps = warps,
                        .leaves_out = true,
                        .merged = true,
                        .blocks_z = 1};
  KernelWork w;
  const Keys longest =
      add_tiles(w, s, wide, tiles_present(wide, launch.shape.grid.x / args.pair_tiles()));
  add_span_chain(w, s, longest, kPairs * kTile / simt::kWarpSize, 1);
  return w;
}

KernelWork work(const gpu::MergeSpansArgs& args, const KernelLaunch& launch) {
  const SpanInput& in = args.in;
  const SpanSizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.x, *args.row_count);
  const std::uint64_t sinks = in.sinks != nullptr && rows > 0 ? s.heads * kFloat : 0;
  const std::uint64_t pieces = size_of(launch.shape.grid.z);  // of a head
  KernelWork w;
  w.bytes_read = kWord + sinks;
  w.block_bytes = blocks_of(launch) * kWord;
  std::uint64_t longest = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t spans = seen(in, r, r).spans();
    const std::uint64_t partial = s.heads * spans * s.partial();
    w.bytes_read += kRow + partial;
    w.bytes_written += s.heads * s.result();
    const std::uint64_t read = (s.value_size + 2 * pieces) * kFloat;  // of a span, by all blocks
    w.block_bytes += s.heads * (pieces * kRow + spans * read + s.result()) + pieces * sinks;
    w.flops += s.heads * spans * s.flops_of_merge();
    longest = std::max(longest, spans);
  }
  w.chain_loads = 2 + longest;
  w.chain_operations = longest * (kExp2 + 3) + chain::kDivide;
  return w;
}

}  // namespace forge::sim
