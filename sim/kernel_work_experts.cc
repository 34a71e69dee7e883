// The formulas of mixtures of experts, after cuda/kernels/*experts.cuh.
#include <set>
#include <vector>

#include "kernel_chain.h"

namespace forge::sim {
namespace {

using gpu::KernelLaunch;

constexpr std::uint64_t kChoice = sizeof(gpu::ExpertChoice);
constexpr std::uint64_t kTile = sizeof(gpu::ExpertTile);

/// Of a row of that size.
std::uint64_t bytes_of(const gpu::NextRows& next, std::uint64_t size) {
  const std::uint64_t h = next.h != nullptr ? size * sizeof(std::uint16_t) : 0;
  return h + (next.squares != nullptr ? size / numerics::kSquaresGroup * kFloat : 0);
}

}  // namespace

KernelWork work(const gpu::ChooseExpertsArgs& args, const KernelLaunch& launch) {
  const std::uint64_t rows = present(launch.shape.grid.x, args.counts->rows);
  const std::uint64_t E = size_of(args.experts);
  const std::uint64_t A = size_of(args.experts_per_token);
  const bool groups = args.groups_per_token < args.groups;
  const std::uint64_t bias = args.bias != nullptr && rows > 0 ? E * kFloat : 0;
  KernelWork w;
  w.bytes_read = rows * E * kFloat + bias;
  w.bytes_written = rows * A * kChoice;
  w.block_bytes = rows * (E * kFloat + bias + A * kChoice);
  w.flops = rows * (E * (chain::kExpFlops + 3) + 3 * A);
  const std::uint64_t each = chain::turns(E, threads_of(launch));
  const std::uint64_t best = each * (chain::kSharedLoad + 1) + 2 * chain::kWarpTree;
  w.chain_loads = 1 + each + (bias > 0 ? each : 0);
  w.chain_operations = each * (chain::kExp + chain::kDivide + 3 * chain::kSharedLoad) +
                       2 * chain::kWarpTree + A * (best + 2 * chain::kSharedLoad) +
                       (groups ? size_of(args.groups_per_token) * best + E : 0) + chain::kDivide;
  return w;
}

KernelWork work(const gpu::PlanExpertsArgs& args, const KernelLaunch& launch) {
  const std::uint64_t tile = size_of(args.tile_rows);
  const std::uint64_t pairs = args.counts->rows * size_of(args.experts_per_token);
  std::vector<std::uint64_t> chosen(size_of(args.experts));
  for (std::uint64_t i = 0; i < pairs; ++i) ++chosen[args.choices[i].expert];
  std::uint64_t tiles = 0;
  for (const std::uint64_t count : chosen) tiles += chain::turns(count, tile);
  KernelWork w;
  w.bytes_read = pairs * kChoice;
  w.bytes_written = pairs * kWord + tiles * kTile + kWord + sizeof(gpu::PassCounts);
  w.block_bytes = w.bytes_read + w.bytes_written;
  const std::uint64_t warps = threads_of(launch) / size_of(simt::kWarpSize);
  const std::uint64_t lanes = size_of(simt::kWarpSize);
  const std::uint64_t segments = size_of(args.segments(launch.shape.threads));
  const std::uint64_t turns = chain::turns(chain::turns(pairs, segments), lanes);
  constexpr std::uint64_t kUnrolled = 4;                           // by nvcc
  const std::uint64_t place = 2 * lanes + 2 * chain::kSharedLoad;  // two operations a neighbour
  w.chain_loads = 1 + chain::turns(turns, kUnrolled) + turns;
  w.chain_operations = turns * (place + 3 * chain::kSharedLoad) +
                       2 * segments * chain::kSharedLoad + 2 * chain::kBarrier +
                       2 * (chain::kWarpTree + chain::kBarrier + warps * chain::kSharedLoad);
  return w;
}

KernelWork work(const gpu::ProjectExpertsArgs& args, const KernelLaunch& launch) {
  const std::uint64_t tiles = present(launch.shape.grid.x, *args.plan.tiles_count);
  const std::uint64_t panels = size_of(gpu::ceil_div(args.outputs, linear::kPanelOutputs));
  const std::uint64_t K = size_of(args.inputs);
  const std::uint64_t weight_bytes =
      panels * panel_bytes_read(args.inputs, args.kind);  // of an expert
  const std::uint64_t x_bytes = row_bytes(args.inputs, args.kind);
  std::set<std::uint32_t> experts;
  std::set<std::uint32_t> rows;  // of x
  std::uint64_t pairs = 0;
  std::uint64_t most = 0;
  for (std::uint64_t t = 0; t < tiles; ++t) {
    const gpu::ExpertTile& tile = args.plan.tiles[t];
    experts.insert(tile.expert);
    for (std::uint32_t i = 0; i < tile.count; ++i) {
      rows.insert(args.plan.pairs[tile.first + i] / static_cast<std::uint32_t>(args.pairs_per_row));
    }
    pairs += tile.count;
    most = std::max<std::uint64_t>(most, tile.count);
  }
  const std::uint64_t plan = tiles * kTile + pairs * kWord;
  const std::uint64_t y = pairs * size_of(args.outputs);
  KernelWork w;
  const std::uint64_t bias = args.bias != nullptr ? size_of(args.outputs) * kFloat : 0;
  w.bytes_read = kWord + plan + experts.size() * (weight_bytes + bias) + rows.size() * x_bytes;
  w.bytes_written = y * kFloat;
  w.block_bytes = blocks_of(launch) * kWord + panels * plan + tiles * (weight_bytes + bias) +
                  panels * pairs * x_bytes + y * kFloat;
  w.flops = 2 * y * K;
  w.chain_loads = 3 + (bias > 0 ? 1 : 0);
  add_product_chain(w, most, args.inputs, args.kind, threads_of(launch));
  return w;
}

KernelWork work(const gpu::AddExpertsArgs& args, const KernelLaunch& launch) {
  const std::uint64_t rows = present(launch.shape.grid.x, args.counts->rows);
  const std::uint64_t pieces = size_of(launch.shape.grid.y);
  const std::uint64_t A = size_of(args.experts_per_token);
  const std::uint64_t row_bytes = size_of(args.size) * kFloat;
  const std::uint64_t addends = A + (args.shared != nullptr ? 1 : 0) + (args.accumulate ? 1 : 0);
  KernelWork w;
  const bool gated = args.shared != nullptr && args.shared_gates != nullptr;
  const std::uint64_t gate_bytes = gated ? kFloat : 0;
  // Blocks without rows have read the weights of the next norm when they learn of it.
  const std::uint64_t weight = args.next.weight != nullptr ? row_bytes : 0;
  const std::uint64_t next = bytes_of(args.next, size_of(args.size));
  w.bytes_read = rows * (A * kChoice + gate_bytes + addends * row_bytes) + weight;
  w.bytes_written = rows * (row_bytes + next);
  w.block_bytes = rows * (pieces * (A * kChoice + gate_bytes) + (addends + 1) * row_bytes + next) +
                  size_of(launch.shape.grid.x) * weight;
  const std::uint64_t of_next = (weight > 0 ? 1 : 0) + (args.next.squares != nullptr ? 2 : 0);
  w.flops =
      rows * size_of(args.size) * (2 * addends + of_next + (gated ? chain::kExpFlops + 2 : 0));
  constexpr std::uint64_t kUnrolled = 4;  // by nvcc
  w.chain_loads = 1 + chain::turns(A, kUnrolled) + (args.accumulate ? 1 : 0);
  w.chain_operations = addends + (gated ? chain::kExp + chain::kDivide + 1 : 0) +
                       (next > 0 ? 3 * (chain::kShuffle + 1) : 0);
  return w;
}

}  // namespace forge::sim
