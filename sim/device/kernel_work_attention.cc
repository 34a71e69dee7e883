#include <algorithm>

#include "forge/numerics/attention.h"
#include "kernel_chain.h"

namespace forge::sim {
namespace {

using gpu::AttentionInput;
using gpu::KernelLaunch;

constexpr std::uint64_t kFloat = sizeof(float);
constexpr std::uint64_t kIndex = sizeof(std::uint32_t);
constexpr auto kChunk = static_cast<std::uint64_t>(numerics::kKeyChunk);

struct Heads {
  std::uint64_t D;
  std::uint64_t Hkv;
  std::uint64_t G;
  std::uint64_t S;
};
Heads heads_of(const AttentionInput& in) {
  return {static_cast<std::uint64_t>(in.kv.head_size), static_cast<std::uint64_t>(in.kv.kv_heads),
          static_cast<std::uint64_t>(in.kv.group_size),
          static_cast<std::uint64_t>(in.kv.block_size)};
}

std::uint64_t context(const AttentionInput& in, std::uint64_t row) {
  return std::uint64_t{in.rows[row].position} + 1;
}

std::uint64_t chunks_of(std::uint64_t keys) { return (keys + kChunk - 1) / kChunk; }

/// What one row and KV head does over `keys` keys, whoever does it.
std::uint64_t flops(const Heads& h, std::uint64_t keys) {
  return h.G * keys * (4 * h.D + chain::kExpFlops + 2);
}

/// Keys, values and table entries of `keys` keys of one KV head.
std::uint64_t kv_bytes(const Heads& h, std::uint64_t keys) { return keys * 2 * h.D * kFloat; }
std::uint64_t table_bytes(const Heads& h, std::uint64_t keys) {
  return (keys + h.S - 1) / h.S * kIndex;
}

/// One chunk of one group of query heads: a key a thread for the scores, then a component a thread
/// for the values.
void add_chunk(KernelWork& w, const Heads& h, std::uint64_t queries) {
  w.chain_loads += 1 + chain::batches(h.D) + chain::batches(kChunk);
  w.chain_operations += queries * (h.D + kChunk + chain::kExp) + 3 * chain::kWarpSum +
                        4 * chain::kBarrier + 3 * chain::kExp;
}

}  // namespace

KernelWork attend_decode_work(const KernelLaunch& launch) {
  const AttentionInput in = args_of<gpu::AttendDecodeArgs>(launch).in;
  const Heads h = heads_of(in);
  const std::uint64_t rows = std::min<std::uint64_t>(
      static_cast<std::uint64_t>(launch.shape.grid.x), in.counts->decode_rows);
  KernelWork w;
  std::uint64_t longest = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t keys = context(in, r);
    const std::uint64_t per_head = kv_bytes(h, keys) + h.G * h.D * kFloat;
    w.bytes_read += 2 * kIndex + table_bytes(h, keys) + h.Hkv * per_head;
    w.bytes_written += h.Hkv * h.G * h.D * kFloat;
    w.block_bytes += h.Hkv * (2 * kIndex + table_bytes(h, keys) + per_head + h.G * h.D * kFloat);
    w.flops += h.Hkv * flops(h, keys);
    longest = std::max(longest, keys);
  }
  w.bytes_read += kIndex;
  w.block_bytes += static_cast<std::uint64_t>(launch.shape.blocks()) * kIndex;
  w.chain_loads = 2;
  for (std::uint64_t chunk = 0; chunk < chunks_of(longest); ++chunk) add_chunk(w, h, h.G);
  w.chain_operations += chain::kDivide;
  return w;
}

KernelWork attend_split_work(const KernelLaunch& launch) {
  const AttentionInput in = args_of<gpu::AttendSplitArgs>(launch).in;
  const Heads h = heads_of(in);
  const std::uint64_t rows = std::min<std::uint64_t>(
      static_cast<std::uint64_t>(launch.shape.grid.z), in.counts->decode_rows);
  KernelWork w;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t keys = context(in, r);
    const std::uint64_t chunks = chunks_of(keys);
    const std::uint64_t partial = chunks * h.G * (h.D + 2) * kFloat;
    w.bytes_read +=
        2 * kIndex + table_bytes(h, keys) + h.Hkv * (kv_bytes(h, keys) + h.G * h.D * kFloat);
    w.bytes_written += h.Hkv * partial;
    w.block_bytes += h.Hkv * (chunks * (2 * kIndex + h.G * h.D * kFloat) + table_bytes(h, keys) +
                              kv_bytes(h, keys) + partial);
    w.flops += h.Hkv * flops(h, keys);
  }
  w.bytes_read += kIndex;
  w.block_bytes += static_cast<std::uint64_t>(launch.shape.blocks()) * kIndex;
  w.chain_loads = 2;
  add_chunk(w, h, h.G);
  return w;
}

KernelWork attend_merge_work(const KernelLaunch& launch) {
  const AttentionInput in = args_of<gpu::AttendMergeArgs>(launch).in;
  const Heads h = heads_of(in);
  const std::uint64_t rows = std::min<std::uint64_t>(
      static_cast<std::uint64_t>(launch.shape.grid.x), in.counts->decode_rows);
  const std::uint64_t H = h.Hkv * h.G;
  KernelWork w;
  std::uint64_t longest = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t chunks = chunks_of(context(in, r));
    w.bytes_read += kIndex + H * chunks * (h.D + 2) * kFloat;
    w.bytes_written += H * h.D * kFloat;
    w.block_bytes += H * (kIndex + (chunks * (h.D + 2) + h.D) * kFloat);
    w.flops += H * chunks * (3 * h.D + 2 * chain::kExpFlops + 3);
    longest = std::max(longest, chunks);
  }
  w.bytes_read += kIndex;
  w.block_bytes += static_cast<std::uint64_t>(launch.shape.blocks()) * kIndex;
  w.chain_loads = 2 + longest;
  w.chain_operations = longest * (chain::kExp + 3) + chain::kDivide;
  return w;
}

KernelWork attend_prompt_work(const KernelLaunch& launch) {
  const auto args = args_of<gpu::AttendPromptArgs>(launch);
  const AttentionInput in = args.in;
  const Heads h = heads_of(in);
  const std::uint64_t tiles = std::min<std::uint64_t>(
      static_cast<std::uint64_t>(launch.shape.grid.x), in.counts->prompt_tiles);
  KernelWork w;
  std::uint64_t longest = 0;
  std::uint64_t most_rows = 0;
  for (std::uint64_t t = 0; t < tiles; ++t) {
    const std::uint64_t first = args.tiles[t].first;
    const std::uint64_t count = args.tiles[t].count;
    const std::uint64_t keys = context(in, first + count - 1);
    const std::uint64_t q = count * h.G * h.D * kFloat;
    w.bytes_read += sizeof(gpu::PromptTile) + count * 2 * kIndex + table_bytes(h, keys) +
                    h.Hkv * (kv_bytes(h, keys) + q);
    w.bytes_written += h.Hkv * q;
    w.block_bytes += h.Hkv * (sizeof(gpu::PromptTile) + count * 2 * kIndex + table_bytes(h, keys) +
                              kv_bytes(h, keys) + 2 * q);
    for (std::uint64_t r = 0; r < count; ++r) w.flops += h.Hkv * flops(h, context(in, first + r));
    longest = std::max(longest, keys);
    most_rows = std::max(most_rows, count);
  }
  w.bytes_read += kIndex;
  w.block_bytes += static_cast<std::uint64_t>(launch.shape.blocks()) * kIndex;
  w.chain_loads = 3;
  for (std::uint64_t chunk = 0; chunk < chunks_of(longest); ++chunk) {
    add_chunk(w, h, most_rows * h.G);
  }
  w.chain_operations += chain::kDivide;
  return w;
}

}  // namespace forge::sim
