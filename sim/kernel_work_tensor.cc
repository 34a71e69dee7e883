// The formulas of products on tensor cores.
#include "forge/numerics/matrix_step.h"
#include "forge/numerics/scaled_norm.h"
#include "kernel_chain.h"

namespace forge::sim {

using gpu::KernelLaunch;
using gpu::ProjectNarrowArgs;
using gpu::ProjectWideArgs;
using gpu::TensorProduct;

namespace {

constexpr std::uint64_t kHalf = 2;

/// How a kernel cuts a product into blocks.
struct Blocking {
  std::uint64_t rows;           ///< of x, in the launch
  std::uint64_t tile_rows;      ///< of x, in a block
  std::uint64_t row_blocks;     ///< that are launched, with and without rows
  std::uint64_t output_blocks;  ///< along the outputs
  /// Rows of weights that the launch reads, and that the blocks of a row tile read together: less
  /// where gates and ups overlap.
  std::uint64_t weight_rows;
  std::uint64_t block_weight_rows;
  std::uint64_t stage_inputs;
  std::uint64_t stages_ahead;  ///< that a block asks for before it knows its rows

  std::uint64_t row_tiles() const { return chain::turns(rows, tile_rows); }
};

std::uint64_t rows_of(const TensorProduct& p) {
  return std::min<std::uint64_t>(*p.row_count, size_of(p.rows_max));
}

/// A last tile of fewer than 8 outputs reads 8 rows of weights. Those after the last gate are ups.
Blocking blocking_of(const ProjectNarrowArgs& args, const KernelLaunch& launch) {
  using Args = ProjectNarrowArgs;
  const TensorProduct& p = args.product;
  const std::uint64_t tiles = size_of(args.output_tiles());
  const std::uint64_t outputs = tiles * size_of(Args::kTileOutputs);
  return {.rows = rows_of(p),
          .tile_rows = size_of(Args::kTileRows),
          .row_blocks = size_of(launch.shape.grid.x),
          .output_blocks = chain::turns(tiles, threads_of(launch) / size_of(simt::kWarpSize)),
          .weight_rows = p.is_gated() ? size_of(p.columns()) + outputs : outputs,
          .block_weight_rows = p.is_gated() ? 2 * outputs : outputs,
          .stage_inputs = size_of(Args::kStageInputs),
          .stages_ahead = size_of(Args::kStages - 1)};
}

Blocking blocking_of(const ProjectWideArgs& args, const KernelLaunch& launch) {
  using Args = ProjectWideArgs;
  const TensorProduct& p = args.product;
  return {.rows = rows_of(p),
          .tile_rows = size_of(Args::kTileRows),
          .row_blocks = size_of(launch.shape.grid.x),
          .output_blocks = size_of(launch.shape.grid.y),
          .weight_rows = size_of(p.outputs),
          .block_weight_rows = size_of(p.outputs),
          .stage_inputs = size_of(Args::kStageInputs),
          .stages_ahead = size_of(Args::kStages - 1)};
}

/// What is read of x and weights.
void add_factors(KernelWork& w, const TensorProduct& p, const Blocking& b) {
  const std::uint64_t weight_bytes = size_of(p.inputs) * kHalf;  // of a row
  // Blocks without rows have asked for the first stages when they learn of it.
  const std::uint64_t asked = std::min(weight_bytes, b.stages_ahead * b.stage_inputs * kHalf);
  const std::uint64_t squares =
      p.norm.squares != nullptr ? size_of(p.inputs / numerics::kSquaresGroup) * kFloat : 0;
  const std::uint64_t x = b.rows * (weight_bytes + squares);
  const std::uint64_t tiles = b.row_tiles();
  w.bytes_read += kWord + b.weight_rows * (b.rows > 0 ? weight_bytes : asked) + x;
  w.block_bytes += b.row_blocks * b.output_blocks * kWord +
                   b.block_weight_rows * (tiles * weight_bytes + (b.row_blocks - tiles) * asked) +
                   b.output_blocks * x;
}

/// What becomes of the products of all rows, beside y and gates.
void add_results(KernelWork& w, const TensorProduct& p, const Blocking& b) {
  if (b.rows == 0) return;
  const std::uint64_t results = b.rows * size_of(p.outputs);
  const std::uint64_t bias = p.bias != nullptr ? size_of(p.outputs) * kFloat : 0;
  const std::uint64_t weight = p.next.weight != nullptr ? size_of(p.outputs) * kFloat : 0;
  const std::uint64_t before = p.accumulate ? results * kFloat : 0;
  w.bytes_read += bias + weight + before;
  w.block_bytes += b.row_tiles() * (bias + weight) + before;
  if (p.is_gated()) {
    w.bytes_written = results / 2 * kHalf;
    w.flops += results / 2 * (chain::kExpFlops + 12);
  } else if (p.y != nullptr) {
    w.bytes_written = results * kFloat;
  }
  if (p.candidates != nullptr) {
    w.bytes_written +=
        b.rows * size_of(gpu::candidate_count(p.outputs)) * sizeof(sampling::BestToken);
    w.flops += results;
  }
  if (p.next.h != nullptr) w.bytes_written += results * kHalf;
  if (p.next.squares != nullptr) {
    w.bytes_written += results / size_of(numerics::kSquaresGroup) * kFloat;
  }
  if (p.cap > 0) w.flops += results * chain::kSoftCapFlops;
  w.block_bytes += w.bytes_written;
}

/// Whole tiles of rows and outputs.
void add_steps(KernelWork& w, const TensorProduct& p, const Blocking& b) {
  const std::uint64_t steps = chain::turns(size_of(p.inputs), numerics::kStepProducts);
  const std::uint64_t inputs = steps * numerics::kStepProducts;
  w.matrix_flops = 2 * b.row_tiles() * b.tile_rows * b.block_weight_rows * inputs;
}

/// A block multiplies a stage while the next ones are under way. `step`: of the tensor core, until
/// a warp can begin the next one of the same sums.
void add_chain(KernelWork& w, const TensorProduct& p, const Blocking& b, std::uint64_t step) {
  const std::uint64_t stages = chain::turns(size_of(p.inputs), b.stage_inputs);
  const std::uint64_t steps = chain::turns(size_of(p.inputs), numerics::kStepProducts);
  w.chain_loads = 2 + chain::turns(stages, b.stages_ahead);
  w.chain_operations = stages * (chain::kBarrier + chain::kSharedLoad) + steps * step;
}

/// The sums of squares of `rows` rows, which a warp makes, those of `at_once` side by side.
void add_norm_chain(KernelWork& w, const TensorProduct& p, std::uint64_t rows,
                    std::uint64_t at_once) {
  if (p.norm.squares == nullptr) return;
  const std::uint64_t of_lane =
      chain::turns(size_of(p.inputs / numerics::kSquaresGroup), size_of(simt::kWarpSize));
  w.chain_loads += 1;
  w.chain_operations +=
      chain::turns(rows, at_once) * chain::side_by_side(of_lane + chain::kWarpTree, at_once) +
      2 * chain::kDivide + chain::kSquareRoot;
}

// 33 to 36 cycles until a step has its sums (Luo et al., arXiv:2402.13499).
constexpr std::uint64_t kStepLatency = 9;

}  // namespace

KernelWork work(const ProjectNarrowArgs& args, const KernelLaunch& launch) {
  const TensorProduct& p = args.product;
  const Blocking b = blocking_of(args, launch);
  KernelWork w;
  add_factors(w, p, b);
  add_results(w, p, b);
  add_steps(w, p, b);
  add_chain(w, p, b, kStepLatency);
  add_norm_chain(w, p, std::min(b.rows, b.tile_rows), 1);
  return w;
}

KernelWork work(const ProjectWideArgs& args, const KernelLaunch& launch) {
  constexpr std::uint64_t kStepsOfWarp = 16;  // beside one another, for its 64 rows and 32 outputs
  constexpr std::uint64_t kStepInterval = 2;  // 8 cycles from one to the next
  constexpr std::uint64_t kFactorsOfWarp = 16;
  const TensorProduct& p = args.product;
  const Blocking b = blocking_of(args, launch);
  KernelWork w;
  add_factors(w, p, b);
  add_results(w, p, b);
  add_steps(w, p, b);
  add_chain(w, p, b, std::max(kStepLatency, kStepsOfWarp * kStepInterval));
  add_norm_chain(w, p, std::min(b.rows, kFactorsOfWarp), kFactorsOfWarp);
  return w;
}

}  // namespace forge::sim
