// The formulas of the attention kernels, after cuda/kernels/attend_*.cuh.
#include <bit>

#include "kernel_chain.h"

namespace forge::sim {
namespace {

using gpu::AttentionInput;
using gpu::KernelLaunch;

/// The sizes of one layer's attention. Legend: gpu/kernels.h.
struct Sizes {
  explicit Sizes(const AttentionInput& in)
      : head_size(size_of(in.kv.head_size)),
        block_size(size_of(in.kv.block_size)),
        kv_heads(size_of(in.kv.kv_heads)),
        heads(size_of(in.kv.heads())),
        number_bytes(bytes_of(in.kv.type)),
        sinks(in.sinks != nullptr ? heads * kFloat : 0),
        is_capped(in.score_cap > 0) {}

  std::uint64_t vector() const { return head_size * kFloat; }
  /// Keys and values of positions [first, end) of one KV head, and the table entries to them.
  std::uint64_t kv(std::uint64_t first, std::uint64_t end) const {
    return (end - first) * 2 * head_size * number_bytes;
  }
  std::uint64_t table(std::uint64_t first, std::uint64_t end) const {
    return ((end - 1) / block_size - first / block_size + 1) * kWord;
  }
  std::uint64_t flops(std::uint64_t keys) const {
    return keys * (4 * head_size + chain::kExpFlops + 2 + (is_capped ? chain::kSoftCapFlops : 0));
  }

  std::uint64_t head_size;
  std::uint64_t block_size;
  std::uint64_t kv_heads;
  std::uint64_t heads;
  std::uint64_t number_bytes;  ///< of KV
  std::uint64_t sinks;         ///< bytes of all heads'
  bool is_capped;
};

/// Positions that a row attends over.
struct Context {
  std::uint64_t first = 0;
  std::uint64_t end = 0;

  std::uint64_t keys() const { return end - first; }
  std::uint64_t first_segment() const { return first / kSegment; }
  std::uint64_t segments() const { return chain::turns(end, kSegment) - first_segment(); }
};
Context context(const AttentionInput& in, std::uint64_t row) {
  const std::uint64_t length = std::uint64_t{in.rows[row].position} + 1;
  return {size_of(in.first_seen(static_cast<int>(length))), length};
}
Context longer(const Context& a, const Context& b) { return a.keys() < b.keys() ? b : a; }

/// A chain through a context for a tile of `queries` queries, by blocks of kSegment threads.
void add_chain(KernelWork& w, const Sizes& s, const Context& context, std::uint64_t queries) {
  constexpr std::uint64_t kInFlight = 8;
  const std::uint64_t tile = std::bit_ceil(queries);
  const std::uint64_t each =
      chain::turns(queries, kSegment / s.head_size);  // components of a thread
  const std::uint64_t warps = kSegment / size_of(simt::kWarpSize);
  const std::uint64_t weights =
      chain::turns(queries, warps) * (2 * chain::kWarpTree + chain::kSharedLoad + chain::kExp + 16);
  const std::uint64_t caps = s.is_capped ? queries * (chain::kSoftCap + chain::kSharedLoad) : 0;
  for (std::uint64_t c = context.first_segment(); c * kSegment < context.end; ++c) {
    const std::uint64_t seen =
        std::min(context.end, (c + 1) * kSegment) - std::max(context.first, c * kSegment);
    w.chain_loads += 1 + chain::turns(s.head_size, kInFlight) + chain::turns(seen, kInFlight);
    w.chain_operations += chain::side_by_side(s.head_size, tile) + caps + weights +
                          chain::side_by_side(seen, each) +
                          chain::turns(seen, kInFlight) * chain::kSharedLoad + 2 * chain::kExp +
                          3 * (chain::kBarrier + chain::kSharedLoad);
  }
  w.chain_operations += chain::kDivide;
}

/// Sinks, if there are any, of a launch that has `count` rows or tiles of rows. Each block reads
/// those of its heads.
void add_sinks(KernelWork& w, const Sizes& s, std::uint64_t count) {
  if (s.sinks == 0 || count == 0) return;
  w.bytes_read += s.sinks;
  w.chain_loads += 1;
  w.chain_operations += chain::kExp + 2;
}

}  // namespace

KernelWork work(const gpu::AttendDecodeArgs& args, const KernelLaunch& launch) {
  const AttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.x, in.counts->decode_rows);
  const std::uint64_t tiles = size_of(launch.shape.grid.y);
  KernelWork w;
  Context longest;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const Context c = context(in, r);
    const std::uint64_t table = s.table(c.first, c.end);
    const std::uint64_t kv = s.kv(c.first, c.end);
    w.bytes_read += kRow + s.heads * s.vector() + table + s.kv_heads * kv;
    w.bytes_written += s.heads * s.vector();
    w.block_bytes += 2 * s.heads * s.vector() + tiles * (kRow + table + kv) + s.sinks;
    w.flops += s.heads * s.flops(c.keys());
    longest = longer(longest, c);
  }
  w.chain_loads = 2;
  add_chain(w, s, longest, std::min<std::uint64_t>(s.heads / s.kv_heads, gpu::kTileHeads));
  add_sinks(w, s, rows);
  return w;
}

KernelWork work(const gpu::AttendSplitArgs& args, const KernelLaunch& launch) {
  const AttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.z, in.counts->decode_rows);
  const std::uint64_t tiles = size_of(launch.shape.grid.y);
  KernelWork w;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const Context c = context(in, r);
    const std::uint64_t partial = s.heads * c.segments() * (s.vector() + 2 * kFloat);
    w.bytes_read +=
        kRow + s.heads * s.vector() + s.table(c.first, c.end) + s.kv_heads * s.kv(c.first, c.end);
    w.bytes_written += partial;
    w.block_bytes += tiles * (size_of(launch.shape.grid.x) * kRow + s.kv(c.first, c.end)) +
                     c.segments() * s.heads * s.vector() + partial;
    for (std::uint64_t segment = c.first_segment(); segment * kSegment < c.end; ++segment) {
      w.block_bytes += tiles * s.table(std::max(segment * kSegment, c.first),
                                       std::min((segment + 1) * kSegment, c.end));
    }
    w.flops += s.heads * s.flops(c.keys());
  }
  w.chain_loads = 2;
  add_chain(w, s, {0, kSegment}, std::min<std::uint64_t>(s.heads / s.kv_heads, gpu::kTileHeads));
  return w;
}

void add_merge_chain(KernelWork& w, std::uint64_t segments) {
  w.chain_loads += 2 + chain::turns(segments, 2);  // nvcc unrolls the loop by two
  w.chain_operations += segments * (chain::kExp + 3) + chain::kDivide;
}

KernelWork work(const gpu::AttendMergeArgs& args, const KernelLaunch& launch) {
  const AttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.x, in.counts->decode_rows);
  KernelWork w;
  std::uint64_t longest = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t segments = context(in, r).segments();
    const std::uint64_t partial = s.heads * segments * (s.vector() + 2 * kFloat);
    w.bytes_read += kRow + partial;
    w.bytes_written += s.heads * s.vector();
    w.block_bytes += s.heads * (kRow + s.vector()) + partial + s.sinks;
    w.flops += s.heads * segments * (3 * s.head_size + 2 * chain::kExpFlops + 3);
    longest = std::max(longest, segments);
  }
  add_merge_chain(w, longest);
  add_sinks(w, s, rows);
  return w;
}

KernelWork work(const gpu::AttendPromptArgs& args, const KernelLaunch& launch) {
  const AttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t tiles = present(launch.shape.grid.x, in.counts->prompt_tiles);
  KernelWork w;
  Context longest;
  Context of_sequence;  // what the tiles of one sequence, which follow one another, read together
  std::uint64_t most_rows = 1;
  for (std::uint64_t t = 0; t < tiles; ++t) {
    const gpu::PromptTile tile = args.tiles[t];
    Context c = context(in, tile.first);
    for (std::uint64_t r = 0; r < tile.count; ++r) {
      const Context of_row = context(in, tile.first + r);
      w.flops += s.heads * s.flops(of_row.keys());
      c.end = of_row.end;
    }
    if (of_sequence.end == 0) of_sequence.first = c.first;
    of_sequence.end = c.end;
    const bool last =
        t + 1 == tiles || in.rows[args.tiles[t + 1].first].table != in.rows[tile.first].table;
    if (last) {
      w.bytes_read += s.table(of_sequence.first, of_sequence.end) +
                      s.kv_heads * s.kv(of_sequence.first, of_sequence.end);
      of_sequence = {};
    }
    const std::uint64_t queries = tile.count * s.heads * s.vector();
    w.bytes_read += sizeof(gpu::PromptTile) + kRow + queries;
    w.bytes_written += queries;
    w.block_bytes +=
        2 * queries + s.sinks +
        s.heads * (sizeof(gpu::PromptTile) + kRow + s.table(c.first, c.end) + s.kv(c.first, c.end));
    longest = longer(longest, c);
    most_rows = std::max<std::uint64_t>(most_rows, tile.count);
  }
  w.chain_loads = 3;
  add_chain(w, s, longest, most_rows);
  add_sinks(w, s, tiles);
  return w;
}

}  // namespace forge::sim
