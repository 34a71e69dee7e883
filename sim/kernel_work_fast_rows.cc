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

/// Bytes that the heads of a row read for their norms.
struct NormBytes {
  NormBytes(const gpu::HeadNorms& norms, const gpu::KvLayer& kv) {
    if (norms.query == nullptr) return;
    const std::uint64_t head = size_of(kv.head_size) * kFloat;
    const std::uint64_t queries = size_of(kv.heads());
    const std::uint64_t keys = size_of(kv.kv_heads);
    weights = norms.of_all_heads ? (queries + keys) * head : 2 * head;
    blocks = (queries + keys) * head;
    if (norms.of_all_heads) others = (queries * (queries - 1) + keys * (keys - 1)) * head;
  }

  std::uint64_t weights = 0;  ///< each counted once
  std::uint64_t blocks = 0;   ///< weights, by all blocks of a row
  std::uint64_t others = 0;   ///< other heads, likewise
};

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
  const std::uint64_t moved = heads * D * (kFloat + kHalf) + 2 * key_heads * kWord;
  const NormBytes norms(args.norms, kv);
  std::set<std::uint32_t> positions;  // that share cosines and sines
  for (std::uint64_t r = 0; r < rows; ++r) positions.insert(args.rows[r].position);
  KernelWork w;
  w.bytes_read = rows * (kRow + heads * D * kFloat + kWord) + positions.size() * turned_bytes +
                 (rows > 0 ? norms.weights : 0);
  w.bytes_written = rows * heads * D * kHalf;
  w.block_bytes =
      rows * (heads * kRow + moved + rotated * turned_bytes + norms.blocks + norms.others);
  const std::uint64_t normed = norms.blocks / kFloat;  // numbers of a row
  const std::uint64_t summed = normed + norms.others / kFloat;
  w.flops = rows * (rotated * size_of(args.rotary_size) * 3 + 2 * normed + 2 * summed);
  w.chain_loads = 4;
  const std::uint64_t turns = chain::turns(chain::turns(D, 2), threads_of(launch));
  w.chain_operations = turns * chain::side_by_side(4 + kRounding, 2);
  add_norm_chain(w, args);
  return w;
}

}  // namespace forge::sim
