// The formulas of products on tensor cores.
#include <set>

#include "forge/numerics/matrix_step.h"
#include "forge/numerics/scaled_norm.h"
#include "product_work.h"

namespace forge::sim {

using gpu::ExpertProduct;
using gpu::FinishProductArgs;
using gpu::KernelLaunch;
using gpu::ProjectExpertsNarrowArgs;
using gpu::ProjectExpertsWideArgs;
using gpu::ProjectHeadsWideArgs;
using gpu::ProjectNarrowArgs;
using gpu::ProjectWideArgs;
using gpu::TensorProduct;

RowsOfLaunch rows_of(const TensorProduct& p, int tile_rows) {
  const std::uint64_t count = std::min<std::uint64_t>(*p.row_count, size_of(p.rows_max));
  const std::uint64_t tile = size_of(tile_rows);
  return {.count = count,
          .sources = count,
          .most = std::min(count, tile),
          .tiles = chain::turns(count, tile),
          .matrices = count > 0 ? std::uint64_t{1} : 0};
}

RowsOfLaunch rows_of(const ExpertProduct& p) {
  RowsOfLaunch rows{};
  rows.tiles = present(p.tiles_max, *p.plan.tiles_count);
  std::set<std::uint32_t> experts;
  std::set<std::uint32_t> sources;
  for (std::uint64_t t = 0; t < rows.tiles; ++t) {
    const gpu::ExpertTile& tile = p.plan.tiles[t];
    experts.insert(tile.expert);
    for (std::uint32_t i = 0; i < tile.count; ++i) {
      sources.insert(p.plan.pairs[tile.first + i] / static_cast<std::uint32_t>(p.pairs_per_row));
    }
    rows.count += tile.count;
    rows.most = std::max<std::uint64_t>(rows.most, tile.count);
  }
  rows.sources = sources.size();
  rows.matrices = experts.size();
  return rows;
}

void add_plan(KernelWork& w, const RowsOfLaunch& rows, std::uint64_t output_blocks) {
  const std::uint64_t plan =
      rows.tiles * sizeof(gpu::ExpertTile) + rows.count * sizeof(std::uint32_t);
  w.bytes_read += plan;
  w.block_bytes += output_blocks * plan;
  w.chain_loads += 2;
}

void add_results(KernelWork& w, const TensorProduct& p, const RowsOfLaunch& rows) {
  if (rows.count == 0) return;
  const std::uint64_t results = rows.count * size_of(p.outputs);
  const std::uint64_t bias = p.bias != nullptr ? size_of(p.outputs) * kFloat : 0;
  const std::uint64_t weight = p.next.weight != nullptr ? size_of(p.outputs) * kFloat : 0;
  const std::uint64_t before = p.accumulate ? results * kFloat : 0;
  w.bytes_read += rows.matrices * bias + weight + before;
  w.block_bytes += rows.tiles * (bias + weight) + before;
  if (p.is_gated()) {
    w.bytes_written = results / 2 * kHalf;
    w.flops += results / 2 * (chain::kExpFlops + 12);
  } else if (p.y != nullptr) {
    w.bytes_written = results * kFloat;
  }
  if (p.candidates != nullptr) {
    w.bytes_written +=
        rows.count * size_of(gpu::candidate_count(p.outputs)) * sizeof(sampling::BestToken);
    w.flops += results;
  }
  if (p.next.h != nullptr) w.bytes_written += results * kHalf;
  if (p.next.squares != nullptr) {
    w.bytes_written += results / size_of(numerics::kSquaresGroup) * kFloat;
  }
  if (p.cap > 0) w.flops += results * chain::kSoftCapFlops;
  w.block_bytes += w.bytes_written;
}

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

namespace {

/// How a kernel cuts a product into blocks.
struct Blocking {
  RowsOfLaunch rows;
  std::uint64_t tile_rows;      ///< of x, in a block
  std::uint64_t row_blocks;     ///< that are launched, with and without rows
  std::uint64_t output_blocks;  ///< along the outputs
  /// Rows of weights that the launch reads, and that the blocks of a row tile read together: less
  /// where gates and ups overlap.
  std::uint64_t weight_rows;
  std::uint64_t block_weight_rows;
  std::uint64_t stage_inputs;
  std::uint64_t stages_ahead;  ///< under way, while one is multiplied
  std::uint64_t stages_first;  ///< of weights, asked for before it is known how many rows there are
};

/// A last tile of fewer than 8 outputs reads 8 rows of weights. Those after the last gate are ups.
Blocking blocking_of(const ProjectNarrowArgs& args, const KernelLaunch& launch,
                     const RowsOfLaunch& rows) {
  using Args = ProjectNarrowArgs;
  const TensorProduct& p = args.product;
  const std::uint64_t tiles = size_of(args.output_tiles());
  const std::uint64_t outputs = tiles * size_of(Args::kTileOutputs);
  return {.rows = rows,
          .tile_rows = size_of(Args::kTileRows),
          .row_blocks = size_of(launch.shape.grid.x),
          .output_blocks = chain::turns(tiles, threads_of(launch) / size_of(simt::kWarpSize)),
          .weight_rows = p.is_gated() ? size_of(p.columns()) + outputs : outputs,
          .block_weight_rows = p.is_gated() ? 2 * outputs : outputs,
          .stage_inputs = size_of(Args::kStageInputs),
          .stages_ahead = size_of(Args::stages(p.is_gated())),
          .stages_first = size_of(Args::stages(p.is_gated()))};
}

Blocking blocking_of(const ProjectWideArgs& args, const KernelLaunch& launch,
                     const RowsOfLaunch& rows) {
  const TensorProduct& p = args.product;
  return {.rows = rows,
          .tile_rows = size_of(args.tile_rows()),
          .row_blocks = size_of(launch.shape.grid.x),
          .output_blocks = size_of(launch.shape.grid.y),
          .weight_rows = size_of(p.outputs),
          .block_weight_rows = size_of(p.outputs),
          .stage_inputs = size_of(args.kStageInputs),
          .stages_ahead = size_of(args.block().stages - 1),
          .stages_first = size_of(args.block().stages)};
}

/// What is read of x and weights, and the word that says how many rows, or tiles, there are.
void add_factors(KernelWork& w, const TensorProduct& p, const Blocking& b) {
  const std::uint64_t row = size_of(p.inputs) * kHalf;
  const std::uint64_t squares =
      p.norm.squares != nullptr ? size_of(p.inputs / numerics::kSquaresGroup) * kFloat : 0;
  w.bytes_read += kWord + b.rows.matrices * b.weight_rows * row + b.rows.sources * (row + squares);
  w.block_bytes += b.row_blocks * b.output_blocks * kWord +
                   b.rows.tiles * b.block_weight_rows * row +
                   b.output_blocks * b.rows.count * (row + squares);
}

/// Blocks without rows have asked for the first stages of weights when they learn of it.
void add_asked_in_vain(KernelWork& w, const TensorProduct& p, const Blocking& b) {
  const std::uint64_t asked = std::min(size_of(p.inputs), b.stages_first * b.stage_inputs) * kHalf;
  if (b.rows.count == 0) w.bytes_read += b.weight_rows * asked;
  w.block_bytes += b.block_weight_rows * (b.row_blocks - b.rows.tiles) * asked;
}

/// Whole tiles of rows and outputs.
void add_steps(KernelWork& w, const TensorProduct& p, const Blocking& b) {
  const std::uint64_t steps = chain::turns(size_of(p.inputs), numerics::kStepProducts);
  const std::uint64_t inputs = steps * numerics::kStepProducts;
  w.matrix_flops = 2 * b.rows.tiles * b.tile_rows * b.block_weight_rows * inputs;
}

/// A block multiplies a stage while the next ones are under way. `step`: of the tensor core, until
/// a warp can begin the next one of the same sums.
void add_chain(KernelWork& w, const TensorProduct& p, const Blocking& b, std::uint64_t step) {
  const std::uint64_t stages = chain::turns(size_of(p.inputs), b.stage_inputs);
  const std::uint64_t steps = chain::turns(size_of(p.inputs), numerics::kStepProducts);
  w.chain_loads = 2 + chain::turns(stages, b.stages_ahead);
  w.chain_operations = stages * (chain::kBarrier + chain::kSharedLoad) + steps * step;
}

KernelWork narrow_work(const TensorProduct& p, const Blocking& b) {
  KernelWork w;
  add_factors(w, p, b);
  add_results(w, p, b.rows);
  add_steps(w, p, b);
  add_chain(w, p, b, kStepLatency);
  add_norm_chain(w, p, b.rows.most, 1);
  return w;
}

KernelWork wide_work(const ProjectWideArgs& args, const Blocking& b) {
  const TensorProduct& p = args.product;
  constexpr std::uint64_t kStepInterval = 2;  // 8 cycles from one to the next
  const gpu::WideBlock block = args.block();
  const std::uint64_t factors_of_warp = size_of(block.rows * simt::kWarpSize / block.threads());
  // Beside one another, of 16 rows and 8 outputs.
  const std::uint64_t steps_of_warp = size_of(block.warp_rows / 16 * (block.warp_outputs / 8));
  KernelWork w;
  add_factors(w, p, b);
  add_results(w, p, b.rows);
  add_steps(w, p, b);
  add_chain(w, p, b, std::max(kStepLatency, steps_of_warp * kStepInterval));
  add_norm_chain(w, p, std::min(b.rows.most, factors_of_warp), factors_of_warp);
  return w;
}

}  // namespace

KernelWork work(const ProjectNarrowArgs& args, const KernelLaunch& launch) {
  const Blocking b = blocking_of(args, launch, rows_of(args.product, args.tile_rows()));
  KernelWork w = narrow_work(args.product, b);
  add_asked_in_vain(w, args.product, b);
  return w;
}

KernelWork work(const ProjectWideArgs& args, const KernelLaunch& launch) {
  const Blocking b = blocking_of(args, launch, rows_of(args.product, args.tile_rows()));
  KernelWork w = wide_work(args, b);
  add_asked_in_vain(w, args.product, b);
  return w;
}

/// As many products side by side as there are heads, which share the word with the count of rows,
/// and whose results are of 16 bits.
KernelWork work(const ProjectHeadsWideArgs& args, const KernelLaunch& launch) {
  const ProjectWideArgs of_head = args.of(0);
  const Blocking b = blocking_of(of_head, launch, rows_of(of_head.product, of_head.tile_rows()));
  KernelWork w = wide_work(of_head, b);
  add_asked_in_vain(w, of_head.product, b);
  const std::uint64_t heads = size_of(args.heads);
  const std::uint64_t results = b.rows.count * size_of(args.outputs) * kHalf;
  w.bytes_read = heads * (w.bytes_read - kWord) + kWord;
  w.bytes_written = heads * results;
  w.block_bytes = heads * (w.block_bytes + results);
  w.flops *= heads;
  w.matrix_flops *= heads;
  return w;
}

/// A block has results of one row, and its lanes ask for all at once.
KernelWork work(const FinishProductArgs& args, const KernelLaunch& launch) {
  const TensorProduct& p = args.product;
  const RowsOfLaunch rows = rows_of(p, 1);
  const std::uint64_t column_blocks = size_of(launch.shape.grid.y);
  const std::uint64_t sums = rows.count * size_of(p.outputs) * kFloat;
  const std::uint64_t squares =
      p.norm.squares != nullptr ? rows.count * size_of(p.inputs / numerics::kSquaresGroup) * kFloat
                                : 0;
  KernelWork w;
  w.bytes_read = kWord + sums + squares;
  w.block_bytes = blocks_of(launch) * kWord + sums + column_blocks * squares;
  add_results(w, p, rows);
  w.chain_loads = 2;
  add_norm_chain(w, p, 1, 1);
  return w;
}

KernelWork work(const ProjectExpertsNarrowArgs& args, const KernelLaunch& launch) {
  const ProjectNarrowArgs of_expert = args.of(0);
  const Blocking b = blocking_of(of_expert, launch, rows_of(args.product));
  KernelWork w = narrow_work(of_expert.product, b);
  add_plan(w, b.rows, b.output_blocks);
  return w;
}

KernelWork work(const ProjectExpertsWideArgs& args, const KernelLaunch& launch) {
  const ProjectWideArgs of_expert = args.of(0);
  const Blocking b = blocking_of(of_expert, launch, rows_of(args.product));
  KernelWork w = wide_work(of_expert, b);
  add_plan(w, b.rows, b.output_blocks);
  return w;
}

}  // namespace forge::sim
