// The formulas of products with weights of any kind.
#include <bit>

#include "forge/numerics/canonical.h"
#include "kernel_chain.h"

namespace forge::sim {

using gpu::KernelLaunch;

std::uint64_t panel_bytes_read(int inputs, linear::PanelKind kind) {
  constexpr std::uint64_t kTable = 16;
  switch (kind) {
    case linear::PanelKind::int4:  // padded
      return size_of(linear::codes::group_count(inputs)) * sizeof(linear::codes::Int4Group);
    case linear::PanelKind::table4:
      return linear::panel_bytes(kind, inputs) - sizeof(linear::codes::TableHead) + kTable;
    default:
      return linear::panel_bytes(kind, inputs);
  }
}

std::uint64_t row_bytes(int inputs, linear::PanelKind kind) {
  if (!linear::has_codes(kind)) return size_of(inputs) * kFloat;
  return size_of(linear::codes::group_count(inputs)) * sizeof(gpu::RowGroup);
}

namespace {

/// Of a panel of codes.
void add_code_chain(KernelWork& w, std::uint64_t rows, int inputs, std::uint64_t warps) {
  constexpr std::uint64_t kScaling = 8;  // operations with the sums of a group
  const std::uint64_t groups = size_of(linear::codes::group_count(inputs));
  const std::uint64_t rounds = chain::turns(groups, warps);
  const std::uint64_t dots = size_of(linear::codes::kQuads / 2) + kScaling;
  w.chain_loads += rounds * 2;
  w.chain_operations += rounds * (chain::side_by_side(dots, rows) + 2 * chain::kBarrier +
                                  warps * (chain::kSharedLoad + 1));
}

}  // namespace

void add_product_chain(KernelWork& w, std::uint64_t rows, int inputs, linear::PanelKind kind,
                       std::uint64_t threads) {
  const std::uint64_t tile = size_of(gpu::ProjectArgs::kTileRows);
  const std::uint64_t together = std::min(tile, std::bit_ceil(std::max<std::uint64_t>(rows, 1)));
  const std::uint64_t warps = threads / size_of(simt::kWarpSize);
  if (linear::has_codes(kind)) return add_code_chain(w, std::min(tile, rows), inputs, warps);
  constexpr std::uint64_t kStaged = 512;  // floats of x that a warp keeps
  const std::uint64_t in_flight = kind == linear::PanelKind::bf16 ? 16 : 8;  // inputs
  const std::uint64_t segment = size_of(std::min(inputs, numerics::kProductSegment));
  const std::uint64_t rounds = chain::turns(chain::turns(size_of(inputs), segment), warps);
  const std::uint64_t stagings = chain::turns(segment * together, kStaged);
  w.chain_loads += rounds * (stagings + chain::turns(segment, in_flight));
  w.chain_operations +=
      rounds * (stagings * chain::kSharedLoad + chain::side_by_side(segment, together) +
                2 * chain::kBarrier + warps + chain::kSharedLoad);
}

KernelWork work(const gpu::ProjectArgs& args, const KernelLaunch& launch) {
  const std::uint64_t tile = size_of(gpu::ProjectArgs::kTileRows);
  const std::uint64_t rows =
      std::min<std::uint64_t>(*args.row_count, size_of(launch.shape.grid.x) * tile);
  const std::uint64_t tiles = chain::turns(rows, tile);
  const std::uint64_t panels = size_of(gpu::ceil_div(args.outputs, linear::kPanelOutputs));
  const std::uint64_t K = size_of(args.inputs);
  const std::uint64_t weights = panels * size_of(linear::kPanelOutputs) * K;
  const std::uint64_t weight_bytes = panels * panel_bytes_read(args.inputs, args.kind);
  const std::uint64_t x_bytes = row_bytes(args.inputs, args.kind);
  const std::uint64_t y = rows * size_of(args.outputs);
  KernelWork w;
  const std::uint64_t bias = args.bias != nullptr ? size_of(args.outputs) : 0;
  w.bytes_read =
      kWord +
      (rows > 0 ? weight_bytes + rows * x_bytes + (bias + (args.accumulate ? y : 0)) * kFloat : 0);
  w.bytes_written = y * kFloat;
  w.block_bytes = blocks_of(launch) * kWord + tiles * weight_bytes + panels * rows * x_bytes +
                  (tiles * bias + y * (args.accumulate ? 2 : 1)) * kFloat;
  const std::uint64_t rest = rows % tile;  // its tile is of the next power of two
  w.flops = 2 * weights * (rows - rest + (rest > 0 ? std::bit_ceil(rest) : 0));

  w.chain_loads = 1 + (args.accumulate ? 1 : 0);
  add_product_chain(w, rows, args.inputs, args.kind, threads_of(launch));
  if (args.cap > 0) {
    w.flops += y * chain::kSoftCapFlops;
    w.chain_operations += chain::kSoftCap;
  }
  return w;
}

KernelWork work(const gpu::CodeRowsArgs& args, const KernelLaunch& launch) {
  const std::uint64_t vectors = std::min(std::uint64_t{*args.row_count} * size_of(args.vectors),
                                         size_of(launch.shape.grid.x));
  const std::uint64_t K = size_of(args.inputs);
  const std::uint64_t groups = size_of(linear::codes::group_count(args.inputs));
  const std::uint64_t order = args.order != nullptr ? K * kWord : 0;
  const std::uint64_t x = K * (args.halves != nullptr ? sizeof(std::uint16_t) : kFloat);
  KernelWork w;
  w.bytes_read = kWord + vectors * x + (vectors > 0 ? order : 0);
  w.bytes_written = vectors * groups * sizeof(gpu::RowGroup);
  w.block_bytes = blocks_of(launch) * kWord + vectors * (x + order) + w.bytes_written;
  w.flops = vectors * K * 3;
  w.chain_loads = 2 + (args.order != nullptr ? 1 : 0);
  w.chain_operations = 2 * chain::kDivide + 6 * chain::kShuffle;
  return w;
}

}  // namespace forge::sim
