// The formulas of multi-head latent attention, after cuda/kernels/*latent*.cuh.
#include <set>

#include "kernel_chain.h"

namespace forge::sim {
namespace {

using gpu::KernelLaunch;
using gpu::LatentAttentionInput;

/// The sizes of one layer's attention, in bytes where they say so. Legend: gpu/kernels.h.
struct Sizes {
  explicit Sizes(const LatentAttentionInput& in)
      : latent(size_of(in.latents.latent_size)),
        row(size_of(in.latents.row_size())),
        heads(size_of(in.heads)),
        block_size(size_of(in.latents.block_size)),
        number_bytes(bytes_of(in.latents.type)),
        queries_bytes(heads * row * kFloat),
        sums_bytes(heads * latent * kFloat) {}

  /// The table entries of positions [first, end).
  std::uint64_t table_bytes(std::uint64_t first, std::uint64_t end) const {
    return ((end - 1) / block_size - first / block_size + 1) * kWord;
  }
  /// Latents of positions [0, keys).
  std::uint64_t cached_bytes(std::uint64_t keys) const { return keys * row * number_bytes; }
  std::uint64_t flops(std::uint64_t keys) const {
    return heads * keys * (2 * (row + latent) + chain::kExpFlops + 2);
  }
  std::uint64_t partial_bytes(std::uint64_t keys) const {
    return heads * chain::turns(keys, kSegment) * (latent + 2) * kFloat;
  }

  std::uint64_t latent;
  std::uint64_t row;
  std::uint64_t heads;
  std::uint64_t block_size;
  std::uint64_t number_bytes;  ///< of latents
  std::uint64_t queries_bytes;
  std::uint64_t sums_bytes;
};

std::uint64_t context(const LatentAttentionInput& in, std::uint64_t row) {
  return std::uint64_t{in.rows[row].position} + 1;
}

/// No later row reads more of the same sequence.
bool is_last(const LatentAttentionInput& in, std::uint64_t row, std::uint64_t rows) {
  return row + 1 == rows || in.rows[row + 1].table != in.rows[row].table;
}

/// A chain through `keys` latents for a tile of heads, by blocks of kSegment threads.
void add_chain(KernelWork& w, const Sizes& s, std::uint64_t keys) {
  constexpr std::uint64_t kInFlight = 8;
  constexpr std::uint64_t kCopied = 16;  // components of a row at a time
  constexpr std::uint64_t kStrip = 64;   // of queries
  const std::uint64_t heads = std::min<std::uint64_t>(s.heads, gpu::kLatentTileHeads);
  const std::uint64_t tile = heads > 4 ? 16 : heads > 1 ? 4 : 1;
  const std::uint64_t warps = kSegment / size_of(simt::kWarpSize);
  const std::uint64_t copies = chain::turns(s.row, kCopied);
  const std::uint64_t strips = chain::turns(s.row, kStrip);
  const std::uint64_t components = chain::turns(s.latent, kSegment);  // of a thread
  const std::uint64_t weights =
      chain::turns(heads, warps) * (2 * chain::kWarpTree + chain::kSharedLoad + chain::kExp + 16);
  for (std::uint64_t first = 0; first < keys; first += kSegment) {
    const std::uint64_t turns = chain::turns(std::min(keys - first, kSegment), kInFlight);
    w.chain_loads += 1 + strips + copies * kCopied / kInFlight / 2 + components * (turns + 1);
    w.chain_operations +=
        2 * strips * chain::kBarrier + 2 * copies * chain::kSharedLoad +
        chain::side_by_side(s.row, tile) + weights +
        components * (turns * chain::kSharedLoad + chain::side_by_side(turns * kInFlight, tile)) +
        3 * chain::kBarrier + 2 * chain::kExp;
  }
}

}  // namespace

KernelWork work(const gpu::ProjectHeadsArgs& args, const KernelLaunch& launch) {
  const std::uint64_t tile = size_of(gpu::ProjectArgs::kTileRows);
  const std::uint64_t rows =
      std::min<std::uint64_t>(*args.row_count, size_of(launch.shape.grid.x) * tile);
  const std::uint64_t panels = size_of(launch.shape.grid.y);
  const std::uint64_t heads = size_of(args.heads);
  const std::uint64_t K = size_of(args.inputs);
  const std::uint64_t x_bytes = rows * heads * row_bytes(args.inputs, args.kind);
  const std::uint64_t y = rows * heads * size_of(args.outputs);
  const std::uint64_t weight_bytes = heads * panels * panel_bytes_read(args.inputs, args.kind);
  KernelWork w;
  w.bytes_read = kWord + (rows > 0 ? weight_bytes + x_bytes : 0);
  w.bytes_written = y * kFloat;
  w.block_bytes = blocks_of(launch) * kWord + chain::turns(rows, tile) * weight_bytes +
                  panels * x_bytes + y * kFloat;
  w.flops = 2 * y * K;
  w.chain_loads = 1;
  add_product_chain(w, rows, args.inputs, args.kind, threads_of(launch));
  return w;
}

namespace {

/// Of store_latent or prepare_latents, which write `query_bytes` of the queries of a row, of which
/// they read `query_numbers`.
template <class Args>
KernelWork store_work(const Args& args, const KernelLaunch& launch, std::uint64_t query_numbers,
                      std::uint64_t query_bytes) {
  const std::uint64_t rows = present(launch.shape.grid.x, args.counts->rows);
  const std::uint64_t heads = size_of(args.heads);
  const std::uint64_t turned = size_of(args.latents.rope_size);
  const std::uint64_t latent = size_of(args.latents.latent_size);
  std::set<std::uint32_t> positions;  // that share cosines and sines
  for (std::uint64_t r = 0; r < rows; ++r) positions.insert(args.rows[r].position);
  const std::uint64_t angles = args.rotary != nullptr ? turned : 0;  // floats of a position
  const std::uint64_t row_bytes = (latent + turned + query_numbers) * kFloat;
  const std::uint64_t stored_bytes = (latent + turned) * bytes_of(args.latents.type) + query_bytes;
  KernelWork w;
  w.bytes_read = rows * (kRow + kWord + row_bytes) + positions.size() * angles * kFloat +
                 (rows > 0 ? latent * kFloat : 0);
  w.bytes_written = rows * stored_bytes;
  w.block_bytes = rows * ((heads + 1) * (kRow + angles * kFloat) + kWord + row_bytes +
                          stored_bytes + latent * kFloat);
  w.flops = rows * (4 * latent + (heads + 1) * 3 * angles);
  const std::uint64_t each = chain::turns(latent, threads_of(launch));
  w.chain_loads = 3 + chain::turns(each, 16) + chain::turns(each, 4) + 2;
  w.chain_operations = 3 * each + chain::kWarpTree + 2 * chain::kDivide + chain::kSquareRoot + 2;
  return w;
}

}  // namespace

KernelWork work(const gpu::StoreLatentArgs& args, const KernelLaunch& launch) {
  const std::uint64_t queries = size_of(args.heads * args.latents.rope_size);
  return store_work(args, launch, queries, queries * kFloat);
}

KernelWork work(const gpu::PrepareLatentsArgs& args, const KernelLaunch& launch) {
  constexpr std::uint64_t kHalf = 2;  // bytes
  const std::uint64_t queries = size_of(args.heads * (args.nope_size + args.latents.rope_size));
  return store_work(args, launch, queries, queries * kHalf);
}

KernelWork work(const gpu::AttendLatentArgs& args, const KernelLaunch& launch) {
  const LatentAttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.x, in.counts->rows);
  const std::uint64_t tiles = size_of(launch.shape.grid.y);
  KernelWork w;
  std::uint64_t longest = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t keys = context(in, r);
    const std::uint64_t cached = s.table_bytes(0, keys) + s.cached_bytes(keys);
    w.bytes_read += kRow + s.queries_bytes + s.sums_bytes + (is_last(in, r, rows) ? cached : 0);
    w.bytes_written += s.sums_bytes;
    w.block_bytes += s.queries_bytes + 2 * s.sums_bytes + tiles * (kRow + cached);
    w.flops += s.flops(keys);
    longest = std::max(longest, keys);
  }
  w.chain_loads = 2 + chain::turns(s.latent, kSegment) * gpu::kLatentTileHeads / 4;
  w.chain_operations = chain::kDivide;
  add_chain(w, s, longest);
  return w;
}

KernelWork work(const gpu::AttendLatentSplitArgs& args, const KernelLaunch& launch) {
  const LatentAttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.z, in.counts->rows);
  const std::uint64_t tiles = size_of(launch.shape.grid.y);
  KernelWork w;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t keys = context(in, r);
    const std::uint64_t cached = s.table_bytes(0, keys) + s.cached_bytes(keys);
    w.bytes_read += kRow + s.queries_bytes + (is_last(in, r, rows) ? cached : 0);
    w.bytes_written += s.partial_bytes(keys);
    w.block_bytes += tiles * (size_of(launch.shape.grid.x) * kRow + s.cached_bytes(keys)) +
                     chain::turns(keys, kSegment) * s.queries_bytes + s.partial_bytes(keys);
    for (std::uint64_t first = 0; first < keys; first += kSegment) {
      w.block_bytes += tiles * s.table_bytes(first, std::min(first + kSegment, keys));
    }
    w.flops += s.flops(keys);
  }
  w.chain_loads = 2;
  add_chain(w, s, kSegment);
  return w;
}

KernelWork work(const gpu::AttendLatentMergeArgs& args, const KernelLaunch& launch) {
  const LatentAttentionInput& in = args.in;
  const Sizes s(in);
  const std::uint64_t rows = present(launch.shape.grid.x, in.counts->rows);
  const std::uint64_t pieces = size_of(launch.shape.grid.z);
  KernelWork w;
  std::uint64_t longest = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint64_t segments = chain::turns(context(in, r), kSegment);
    w.bytes_read += kRow + s.partial_bytes(context(in, r));
    w.bytes_written += s.sums_bytes;
    w.block_bytes +=
        s.heads * (pieces * kRow + segments * (s.latent + 2 * pieces) * kFloat) + s.sums_bytes;
    w.flops += s.heads * segments * (3 * s.latent + 2 * chain::kExpFlops + 3);
    longest = std::max(longest, segments);
  }
  add_merge_chain(w, longest);
  return w;
}

}  // namespace forge::sim
