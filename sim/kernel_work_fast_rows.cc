// The formulas of the kernels of fast numerics that make no product, each after its source in
// cuda/kernels.
#include <set>

#include "kernel_chain.h"

namespace forge::sim {

using gpu::KernelLaunch;

namespace {

constexpr std::uint64_t kHalf = kFloat / 2;

/// Operations on a number that is rounded to 16 bits: a clamp, and integers.
constexpr std::uint64_t kRounding = 8;

}  // namespace

KernelWork work(const gpu::ScaleRowsArgs& args, const KernelLaunch& launch) {
  const bool some = args.logits != nullptr;
  const std::uint64_t rows =
      present(launch.shape.grid.x, some ? args.counts->logit_rows : args.counts->rows);
  const std::uint64_t size = size_of(args.size);
  const std::uint64_t group = size_of(numerics::kSquaresGroup);
  const std::uint64_t index = some ? sizeof(gpu::LogitInput) : 0;
  const std::uint64_t weights = args.weight != nullptr ? size * kFloat : 0;
  const std::uint64_t squares = args.squares != nullptr ? size / group * kFloat : 0;
  const std::uint64_t written = size * kHalf + squares;  // of a row
  KernelWork w;
  w.bytes_read = weights + rows * (index + size * kFloat);
  w.bytes_written = rows * written;
  // Blocks of rows beyond the count have their weights before they know.
  w.block_bytes = size_of(launch.shape.grid.x) * weights +
                  rows * (size_of(launch.shape.grid.y) * index + size * kFloat + written);
  w.flops = rows * size * ((weights > 0 ? 1 : 0) + (squares > 0 ? 2 : 0));
  w.chain_loads = 2 + (some ? 1 : 0);
  w.chain_operations = chain::side_by_side(1 + kRounding, group) + 4;
  return w;
}

namespace {

/// Of the heads first to end those that block `index` of the `blocks` of a row has.
std::uint64_t heads_of_block(std::uint64_t index, std::uint64_t blocks, std::uint64_t first,
                             std::uint64_t end) {
  constexpr std::uint64_t kWarps = gpu::PrepareHeadsArgs::kThreads / simt::kWarpSize;
  std::uint64_t count = 0;
  for (std::uint64_t i = first; i < end; ++i) count += i / kWarps % blocks == index ? 1 : 0;
  return count;
}

/// What the blocks of a row read beside their heads, each of them each byte once. For a norm of all
/// heads that is the weights of its own heads, and the other heads.
std::uint64_t head_block_bytes(const gpu::PrepareHeadsArgs& args, std::uint64_t blocks) {
  const std::uint64_t H = size_of(args.kv.heads());
  const std::uint64_t key_heads = size_of(args.kv.kv_heads);
  const auto norms = [&](std::uint64_t own, std::uint64_t all) {
    if (args.norms.query == nullptr || own == 0) return std::uint64_t{0};
    return (args.norms.of_all_heads ? all : 1) * size_of(args.kv.head_size) * kFloat;
  };
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t queries = heads_of_block(i, blocks, 0, H);
    const std::uint64_t keys = heads_of_block(i, blocks, H, H + key_heads);
    const std::uint64_t values = heads_of_block(i, blocks, H + key_heads, H + 2 * key_heads);
    bytes += kRow + (keys + values > 0 ? kWord : 0) + norms(queries, H) + norms(keys, key_heads);
    if (queries + keys > 0) bytes += size_of(args.rotary_size) * kFloat;
  }
  return bytes;
}

/// Numbers of weights of norms that a launch reads, each once.
std::uint64_t norm_weights(const gpu::PrepareHeadsArgs& args) {
  if (args.norms.query == nullptr) return 0;
  const int heads = args.norms.of_all_heads ? args.kv.heads() + args.kv.kv_heads : 2;
  return size_of(heads) * size_of(args.kv.head_size);
}

/// The chain of the warp that sums most.
void add_norm_chain(KernelWork& w, const gpu::PrepareHeadsArgs& args) {
  if (args.norms.query == nullptr) return;
  constexpr std::uint64_t kInFlight = 16;
  constexpr std::uint64_t kUnrolled = 4;  // by nvcc
  const std::uint64_t heads = args.norms.of_all_heads ? size_of(args.kv.heads()) : 1;
  const std::uint64_t each =
      chain::turns(heads * size_of(args.kv.head_size), size_of(simt::kWarpSize));
  w.chain_loads += each / kInFlight + chain::turns(each % kInFlight, kUnrolled);
  w.chain_operations += each + chain::kWarpTree + 2 * chain::kDivide + chain::kSquareRoot + 2;
}

}  // namespace

KernelWork work(const gpu::PrepareHeadsArgs& args, const KernelLaunch& launch) {
  const gpu::KvLayer& kv = args.kv;
  const std::uint64_t rows = present(launch.shape.grid.x, args.counts->rows);
  const std::uint64_t D = size_of(kv.head_size);
  const std::uint64_t key_heads = size_of(kv.kv_heads);
  const std::uint64_t rotated = size_of(kv.heads()) + key_heads;
  const std::uint64_t heads = rotated + key_heads;
  const std::uint64_t turned_bytes = size_of(args.rotary_size) * kFloat;  // of a head
  std::set<std::uint32_t> positions;  // that share cosines and sines
  for (std::uint64_t r = 0; r < rows; ++r) positions.insert(args.rows[r].position);
  KernelWork w;
  w.bytes_read = rows * (kRow + heads * D * kFloat + kWord) + positions.size() * turned_bytes +
                 (rows > 0 ? norm_weights(args) * kFloat : 0);
  w.bytes_written = rows * heads * D * kHalf;
  const std::uint64_t blocks = size_of(launch.shape.grid.y);
  w.block_bytes = rows * (heads * D * (kFloat + kHalf) + head_block_bytes(args, blocks));
  const std::uint64_t normed = args.norms.query != nullptr ? rotated * D : 0;  // numbers of a row
  const bool sums_all = args.norms.query != nullptr && args.norms.of_all_heads;
  const std::uint64_t summed =
      sums_all ? (size_of(kv.heads() * kv.heads()) + key_heads * key_heads) * D : normed;
  w.flops = rows * (rotated * size_of(args.rotary_size) * 3 + 2 * normed + 2 * summed);
  // Of a warp, head after head.
  const std::uint64_t of_warp =
      chain::turns(heads, blocks * threads_of(launch) / size_of(simt::kWarpSize));
  const std::uint64_t turns = chain::turns(chain::turns(D, 2), size_of(simt::kWarpSize));
  w.chain_loads = 2 * of_warp;
  w.chain_operations = of_warp * turns * chain::side_by_side(4 + kRounding, 2);
  for (std::uint64_t i = 0; i < of_warp; ++i) add_norm_chain(w, args);
  w.chain_loads += 2;
  return w;
}

}  // namespace forge::sim
