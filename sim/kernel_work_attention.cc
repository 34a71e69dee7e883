// The formulas of the attention kernels, after cuda/kernels/attend_*.cuh.
#include <bit>

#include "forge/numerics/attention.h"
#include "kernel_chain.h"

namespace forge::sim {
namespace {

using gpu::AttentionInput;
using gpu::KernelLaunch;

constexpr std::uint64_t kCounts = sizeof(gpu::PassCounts);
constexpr std::uint64_t kRow = sizeof(gpu::RowInput);
constexpr auto kChunk = static_cast<std::uint64_t>(numerics::kKeyChunk);

/// The sizes of one layer's attention. Legend: gpu/kernels.h.
struct Sizes {
  explicit Sizes(const AttentionInput& in)
      : head_size(size_of(in.kv.head_size)),
        block_size(size_of(in.kv.block_size)),
        kv_heads(size_of(in.kv.kv_heads)),
        heads(size_of(in.kv.heads())) {}

  std::uint64_t vector() const { return head_size * kFloat; }
  /// Keys and values of positions [first, end) of one KV head, and the table entries to them.
  std::uint64_t kv(std::uint64_t first, std::uint64_t end) const {
    return (end - first) * 2 * vector();
  }
  std::uint64_t table(std::uint64_t first, std::uint64_t end) const {
    return ((end - 1) / block_size - first / block_size + 1) * kWord;
  }
  std::uint64_t flops(std::uint64_t keys) const {
    return keys * (4 * head_size + chain::kExpFlops + 2);
  }

  std::uint64_t head_size;
  std::uint64_t block_size;
  std::uint64_t kv_heads;
  std::uint64_t heads;
};

std::uint64_t context(const AttentionInput& in, std::uint64_t row) {
  return std::uint64_t{in.rows[row].position} + 1;
}

std::uint64_t chunks_of(std::uint64_t keys) { return chain::turns(keys, kChunk); }

/// A chain through `keys` keys for a tile of `queries` queries, by blocks of kChunk threads.
void add_chain(KernelWork& w, const Sizes& s, std::uint64_t keys, std::uint64_t queries) {
  constexpr std::uint64_t kInFlight = 8;
  const std::uint64_t tile = std::bit_ceil(queries);
  const std::uint64_t each = chain::turns(queries, kChunk / s.head_size);  // components of a thread
  const std::uint64_t warps = kChunk / size_of(simt::kWarpSize);
  const std::uint64_t weights =
      chain::turns(queries, warps) * (2 * chain::kWarpTree + chain::kSharedLoad + chain::kExp + 16);
  for (std::uint64_t first = 0; first < keys; first += kChunk) {
    const std::uint64_t seen = std::min(keys - first, kChunk);
    w.chain_loads += 1 + chain::turns(s.head_size, kInFlight) + chain::turns(seen, kInFlight);
    w.chain_operations += chain::side_by_side(s.head_size, tile) + weights +
                          chain::side_by_side(seen, each) +
                          chain::turns(seen, kInFlight) * chain::kSharedLoad + 2 * chain::kExp +
                          3 * (chain::kBarrier + chain::kSharedLoad);
  }
  w.chain_operations += chain::kDivide;
}

}  // namespace

KernelWork work(const gpu::AttendDecodeArgs& args, const KernelLaunch& launch) {
  const AttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.x, in.counts->decode_rows);
  const std::uint64_t tiles = size_of(launch.shape.grid.y);
  KernelWork w;
  std::uint64_t longest = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t keys = context(in, r);
    w.bytes_read += kRow + s.heads * s.vector() + s.table(0, keys) + s.kv_heads * s.kv(0, keys);
    w.bytes_written += s.heads * s.vector();
    w.block_bytes += 2 * s.heads * s.vector() + tiles * (kRow + s.table(0, keys) + s.kv(0, keys));
    w.flops += s.heads * s.flops(keys);
    longest = std::max(longest, keys);
  }
  w.bytes_read += kCounts;
  w.block_bytes += blocks_of(launch) * kCounts;
  w.chain_loads = 2;
  add_chain(w, s, longest, std::min<std::uint64_t>(s.heads / s.kv_heads, gpu::kTileHeads));
  return w;
}

KernelWork work(const gpu::AttendSplitArgs& args, const KernelLaunch& launch) {
  const AttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.z, in.counts->decode_rows);
  const std::uint64_t tiles = size_of(launch.shape.grid.y);
  KernelWork w;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t keys = context(in, r);
    const std::uint64_t partial = s.heads * chunks_of(keys) * (s.vector() + 2 * kFloat);
    w.bytes_read += kRow + s.heads * s.vector() + s.table(0, keys) + s.kv_heads * s.kv(0, keys);
    w.bytes_written += partial;
    w.block_bytes += tiles * (size_of(launch.shape.grid.x) * kRow + s.kv(0, keys)) +
                     chunks_of(keys) * s.heads * s.vector() + partial;
    for (std::uint64_t first = 0; first < keys; first += kChunk) {
      w.block_bytes += tiles * s.table(first, std::min(first + kChunk, keys));
    }
    w.flops += s.heads * s.flops(keys);
  }
  w.bytes_read += kCounts;
  w.block_bytes += blocks_of(launch) * kCounts;
  w.chain_loads = 2;
  add_chain(w, s, kChunk, std::min<std::uint64_t>(s.heads / s.kv_heads, gpu::kTileHeads));
  return w;
}

KernelWork work(const gpu::AttendMergeArgs& args, const KernelLaunch& launch) {
  const AttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.x, in.counts->decode_rows);
  KernelWork w;
  std::uint64_t longest = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t chunks = chunks_of(context(in, r));
    const std::uint64_t partial = s.heads * chunks * (s.vector() + 2 * kFloat);
    w.bytes_read += kRow + partial;
    w.bytes_written += s.heads * s.vector();
    w.block_bytes += s.heads * (kRow + s.vector()) + partial;
    w.flops += s.heads * chunks * (3 * s.head_size + 2 * chain::kExpFlops + 3);
    longest = std::max(longest, chunks);
  }
  w.bytes_read += kCounts;
  w.block_bytes += blocks_of(launch) * kCounts;
  w.chain_loads = 2 + chain::turns(longest, 2);  // nvcc unrolls the loop by two
  w.chain_operations = longest * (chain::kExp + 3) + chain::kDivide;
  return w;
}

KernelWork work(const gpu::AttendPromptArgs& args, const KernelLaunch& launch) {
  const AttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t tiles = present(launch.shape.grid.x, in.counts->prompt_tiles);
  KernelWork w;
  std::uint64_t longest = 0;
  std::uint64_t most_rows = 1;
  for (std::uint64_t t = 0; t < tiles; ++t) {
    const gpu::PromptTile tile = args.tiles[t];
    const std::uint64_t keys = context(in, tile.first) + tile.count - 1;
    const std::uint64_t queries = tile.count * s.heads * s.vector();
    // Tiles of one sequence follow one another, and the last one reads what all others read.
    const bool last =
        t + 1 == tiles || in.rows[args.tiles[t + 1].first].table != in.rows[tile.first].table;
    const std::uint64_t cached = last ? s.table(0, keys) + s.kv_heads * s.kv(0, keys) : 0;
    w.bytes_read += sizeof(gpu::PromptTile) + kRow + queries + cached;
    w.bytes_written += queries;
    w.block_bytes +=
        2 * queries + s.heads * (sizeof(gpu::PromptTile) + kRow + s.table(0, keys) + s.kv(0, keys));
    for (std::uint64_t r = 0; r < tile.count; ++r) {
      w.flops += s.heads * s.flops(context(in, tile.first) + r);
    }
    longest = std::max(longest, keys);
    most_rows = std::max<std::uint64_t>(most_rows, tile.count);
  }
  w.bytes_read += kCounts;
  w.block_bytes += blocks_of(launch) * kCounts;
  w.chain_loads = 3;
  add_chain(w, s, longest, most_rows);
  return w;
}

}  // namespace forge::sim
