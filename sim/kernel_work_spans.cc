// The formulas of attend_spans and merge_spans, after cuda/kernels/attend_spans.cuh.
#include "forge/numerics/span_attention.h"
#include "kernel_chain.h"

namespace forge::sim {
namespace {

using gpu::KernelLaunch;
using gpu::SpanInput;

constexpr std::uint64_t kHalf = 2;  // bytes
constexpr std::uint64_t kSpan = numerics::kSpan;
constexpr std::uint64_t kTile = numerics::kSpanTile;
constexpr std::uint64_t kPairs = gpu::AttendSpansArgs::kPairs;

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
      : head_size(size_of(in.kv.head_size)),
        block_size(size_of(in.kv.block_size)),
        kv_heads(size_of(in.kv.kv_heads)),
        group_size(size_of(in.kv.group_size)),
        heads(size_of(in.kv.heads())),
        is_capped(in.score_cap > 0) {}

  /// Bytes of a head of q, or of out; and of what is left of a span.
  std::uint64_t vector() const { return head_size * kHalf; }
  std::uint64_t partial() const { return (head_size + 2) * kFloat; }
  /// Keys and values of one KV head, and the table entries to them.
  std::uint64_t kv(const Keys& keys) const { return (keys.end - keys.first) * 2 * vector(); }
  std::uint64_t table(const Keys& keys) const {
    return ((keys.end - 1) / block_size - keys.first / block_size + 1) * kWord;
  }
  /// Of a block that goes through a tile: scores, weights, and what sums are multiplied by.
  std::uint64_t flops_of_tile() const {
    const std::uint64_t score = 3 + kExp2Flops + (is_capped ? chain::kSoftCapFlops : 0);
    return kPairs * (kTile * score + head_size + 1);
  }
  /// Of a tile on tensor cores: scores, sums, and in each of four warps the denominator.
  std::uint64_t matrix_flops_of_tile() const {
    constexpr std::uint64_t kDenominators = 4 * 8;  // columns of ones
    return 2 * kPairs * kTile * (2 * head_size + kDenominators);
  }
  /// Of a merge of one span into one head.
  std::uint64_t flops_of_merge() const { return 3 * head_size + 2 * kExp2Flops + 3; }

  std::uint64_t head_size;
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

/// What a thread waits for: the first tile, where each span is, and the work on tiles; the copy of
/// a tile runs beside the work on the one before.
void add_span_chain(KernelWork& w, const SpanSizes& s, const Keys& keys, std::uint64_t spans) {
  const std::uint64_t score = chain::side_by_side(kExp2 + 3, 8) + 2 * (chain::kShuffle + 1) +
                              (s.is_capped ? chain::side_by_side(chain::kSoftCap, 8) : 0);
  const std::uint64_t tile = s.head_size / numerics::kStepProducts * kStep + score + kExp2 +
                             kTile / numerics::kStepProducts * kStep +
                             3 * (chain::kBarrier + chain::kSharedLoad);
  w.chain_loads += 1 + spans;
  w.chain_operations += keys.tiles() * tile + spans * (kExp2 + 3);
}

/// The blocks of a tile of rows. Each reads the keys that its own pairs see.
void add_blocks(KernelWork& w, const SpanSizes& s, const gpu::AttendSpansArgs& args,
                const gpu::PromptTile& tile, std::uint64_t spans_max) {
  const std::uint64_t tile_bytes = args.tiles == nullptr ? 0 : sizeof(gpu::PromptTile);
  w.block_bytes += s.kv_heads * size_of(args.pair_tiles()) * spans_max * tile_bytes;
  const std::uint64_t pairs = tile.count * s.group_size;
  for (std::uint64_t first = 0; first < pairs; first += kPairs) {
    const std::uint64_t count = std::min(kPairs, pairs - first);
    const std::uint64_t last_row = (first + count - 1) / s.group_size;
    const Keys keys = seen(args.in, tile.first + first / s.group_size, tile.first + last_row);
    const bool merged = args.partial == nullptr;
    const std::uint64_t sinks =
        merged && args.in.sinks != nullptr ? std::min(count, s.group_size) * kFloat : 0;
    std::uint64_t bytes = spans_max * kRow + s.kv(keys) + sinks;
    if (merged) {
      bytes += 2 * count * s.vector() + s.table(keys);
      w.flops += s.kv_heads * keys.spans() * count * s.flops_of_merge();
    } else {
      bytes += keys.spans() * count * (s.vector() + s.partial());
      for (std::uint64_t span = keys.first_span(); span * kSpan < keys.end; ++span) {
        bytes += s.table(keys.of_span(span));
      }
    }
    w.block_bytes += s.kv_heads * bytes;
    w.flops += s.kv_heads * keys.tiles() * s.flops_of_tile();
    w.matrix_flops += s.kv_heads * keys.tiles() * s.matrix_flops_of_tile();
  }
}

}  // namespace

KernelWork work(const gpu::AttendSpansArgs& args, const KernelLaunch& launch) {
  const SpanInput& in = args.in;
  const SpanSizes s(in);
  const bool in_tiles = args.tiles != nullptr;
  const bool merged = args.partial == nullptr;
  const std::uint64_t tiles = present(launch.shape.grid.x / args.pair_tiles(),
                                      in_tiles ? in.counts->prompt_tiles : in.counts->decode_rows);
  const auto tile_of = [&](std::uint64_t t) {
    return in_tiles ? args.tiles[t] : gpu::PromptTile{static_cast<std::uint32_t>(t), 1};
  };
  KernelWork w;
  Keys longest;
  Keys of_sequence;  // what the tiles of one sequence, which follow one another, read together
  for (std::uint64_t t = 0; t < tiles; ++t) {
    const gpu::PromptTile tile = tile_of(t);
    const Keys keys = seen(in, tile.first, tile.first + tile.count - 1);
    if (of_sequence.end == 0) of_sequence.first = keys.first;
    of_sequence.end = keys.end;
    if (t + 1 == tiles || in.rows[tile_of(t + 1).first].table != in.rows[tile.first].table) {
      w.bytes_read += s.table(of_sequence) + s.kv_heads * s.kv(of_sequence);
      of_sequence = {};
    }
    const std::uint64_t vectors = tile.count * s.heads;
    w.bytes_read += (in_tiles ? sizeof(gpu::PromptTile) : 0) + kRow + vectors * s.vector();
    w.bytes_written += vectors * (merged ? s.vector() : keys.spans() * s.partial());
    add_blocks(w, s, args, tile, size_of(launch.shape.grid.z));
    if (keys.tiles() > longest.tiles()) longest = keys;
  }
  w.chain_loads = in_tiles ? 3 : 2;
  if (merged) {
    if (in.sinks != nullptr && tiles > 0) w.bytes_read += s.heads * kFloat;
    add_span_chain(w, s, longest, longest.spans());
    w.chain_operations += chain::kDivide;
  } else {
    add_span_chain(w, s, {0, std::min(longest.end, kSpan)}, 1);
  }
  return w;
}

KernelWork work(const gpu::MergeSpansArgs& args, const KernelLaunch& launch) {
  const SpanInput& in = args.in;
  const SpanSizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.x, in.counts->decode_rows);
  const std::uint64_t sinks = in.sinks != nullptr && rows > 0 ? s.heads * kFloat : 0;
  KernelWork w;
  w.bytes_read = sinks;
  std::uint64_t longest = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t spans = seen(in, r, r).spans();
    const std::uint64_t partial = s.heads * spans * s.partial();
    w.bytes_read += kRow + partial;
    w.bytes_written += s.heads * s.vector();
    w.block_bytes += s.heads * (kRow + s.vector()) + partial + sinks;
    w.flops += s.heads * spans * s.flops_of_merge();
    longest = std::max(longest, spans);
  }
  w.chain_loads = 2 + longest;
  w.chain_operations = longest * (kExp2 + 3) + chain::kDivide;
  return w;
}

}  // namespace forge::sim
