// The formulas of products with weights of codes on tensor cores.
#include "product_work.h"

namespace forge::sim {

using gpu::CodeProduct;
using gpu::KernelLaunch;
using gpu::ProjectCodesNarrowArgs;
using gpu::ProjectCodesWideArgs;

namespace {

/// How a kernel cuts a product into blocks.
struct CodeBlocking {
  RowsOfLaunch rows;
  std::uint64_t tile_rows;      ///< of x, in a block
  std::uint64_t row_blocks;     ///< that are launched, with and without rows
  std::uint64_t output_blocks;  ///< along the outputs
  std::uint64_t groups_ahead;   ///< under way, while a stage is multiplied
  std::uint64_t stages;         ///< that a block goes through
};

/// Panels of a matrix, gates and ups.
std::uint64_t all_panels(const CodeProduct& codes) {
  return size_of(codes.panels()) * (codes.product.is_gated() ? 2 : 1);
}

/// Bytes of the first groups of a panel, and of the heads before them.
std::uint64_t bytes_of_groups(const CodeProduct& codes, std::uint64_t groups) {
  constexpr std::uint64_t kBlock = linear::codes::kBlockGroups;
  const std::uint64_t heads =
      linear::codes::has_blocks(codes.kind) ? chain::turns(groups, kBlock) : 1;
  return heads * linear::codes::head_bytes(codes.kind) +
         groups * linear::codes::group_bytes(codes.kind);
}

std::uint64_t groups_of(const CodeProduct& codes) {
  return size_of(linear::codes::group_count(codes.product.inputs));
}

/// What is read of rows and weights, and the word that says how many rows, or tiles, there are.
void add_factors(KernelWork& w, const CodeProduct& codes, const CodeBlocking& b) {
  const gpu::TensorProduct& p = codes.product;
  const std::uint64_t groups = groups_of(codes);
  const std::uint64_t weights = all_panels(codes) * bytes_of_groups(codes, groups);
  const std::uint64_t squares =
      p.norm.squares != nullptr ? size_of(p.inputs / numerics::kSquaresGroup) * kFloat : 0;
  const std::uint64_t row = groups * sizeof(gpu::RowGroup) + squares;
  w.bytes_read += kWord + b.rows.matrices * weights + b.rows.sources * row;
  w.block_bytes += b.row_blocks * b.output_blocks * kWord + b.rows.tiles * weights +
                   b.output_blocks * b.rows.count * row;
}

/// Blocks without rows have asked for the first stages of weights when they learn of it.
void add_asked_in_vain(KernelWork& w, const CodeProduct& codes, const CodeBlocking& b) {
  const std::uint64_t asked =
      all_panels(codes) * bytes_of_groups(codes, std::min(groups_of(codes), b.groups_ahead));
  if (b.rows.count == 0) w.bytes_read += asked;
  w.block_bytes += (b.row_blocks - b.rows.tiles) * asked;
}

/// Sums of integers on tensor cores, and of each group four operations an output, two of them
/// fused, and as many more where there are minima.
void add_operations(KernelWork& w, const CodeProduct& codes, const CodeBlocking& b) {
  const std::uint64_t steps = linear::has_half_scales(codes.kind) ? 2 : 1;
  const std::uint64_t sums = b.rows.tiles * b.tile_rows * all_panels(codes) *
                             size_of(linear::kPanelOutputs) * groups_of(codes);
  w.matrix_flops += 2 * size_of(linear::codes::kGroup) * steps * sums;
  w.flops += (linear::has_minima(codes.kind) ? 6 : 4) * sums;
}

/// A block multiplies a stage while the next ones are under way. Groups go side by side but for the
/// chain of an output, which is shorter than what a warp does for a group: unpacking, and for each
/// sum of a lane some operations. `sums`: of a lane, four for each tile of 16 rows, two of 8.
void add_chain(KernelWork& w, const CodeProduct& codes, const CodeBlocking& b, std::uint64_t sums) {
  constexpr std::uint64_t kUnpacking = 6;
  const std::uint64_t groups = groups_of(codes);
  const std::uint64_t of_sum = linear::has_minima(codes.kind) ? 5 : 4;
  w.chain_loads = 2 + chain::turns(groups, b.groups_ahead);
  w.chain_operations = b.stages * (chain::kBarrier + chain::kSharedLoad + kStepLatency) +
                       groups * (kUnpacking + chain::side_by_side(of_sum, sums));
}

KernelWork code_work(const CodeProduct& codes, const CodeBlocking& b, std::uint64_t sums,
                     std::uint64_t factors) {
  KernelWork w;
  add_factors(w, codes, b);
  add_operations(w, codes, b);
  add_results(w, codes.product, b.rows);
  add_chain(w, codes, b, sums);
  add_norm_chain(w, codes.product, std::min(b.rows.most, factors), factors);
  return w;
}

CodeBlocking blocking_of(const ProjectCodesNarrowArgs& args, const KernelLaunch& launch,
                         const RowsOfLaunch& rows) {
  using Args = ProjectCodesNarrowArgs;
  return {.rows = rows,
          .tile_rows = size_of(Args::kTileRows),
          .row_blocks = size_of(launch.shape.grid.x),
          .output_blocks = size_of(args.codes.panels()),
          .groups_ahead = size_of((args.stages() - 1) * Args::kStageGroups),
          .stages = chain::turns(groups_of(args.codes), size_of(Args::kStageGroups))};
}

CodeBlocking blocking_of(const ProjectCodesWideArgs& args, const KernelLaunch& launch,
                         const RowsOfLaunch& rows) {
  using Args = ProjectCodesWideArgs;
  return {.rows = rows,
          .tile_rows = size_of(Args::kTileRows),
          .row_blocks = size_of(launch.shape.grid.x),
          .output_blocks = size_of(launch.shape.grid.y),
          .groups_ahead = size_of((Args::kStages - 1) * Args::kStageGroups),
          .stages = chain::turns(groups_of(args.codes), size_of(Args::kStageGroups))};
}

KernelWork work_of(const ProjectCodesNarrowArgs& args, const CodeBlocking& b) {
  constexpr std::uint64_t kFactorsOfWarp = 2;
  const std::uint64_t sums = (b.rows.most > 8 ? 4 : 2) * (args.codes.product.is_gated() ? 2 : 1);
  return code_work(args.codes, b, sums, kFactorsOfWarp);
}

KernelWork work_of(const ProjectCodesWideArgs& args, const CodeBlocking& b) {
  constexpr std::uint64_t kSumsOfLane = 32;
  constexpr std::uint64_t kFactorsOfWarp = 8;
  return code_work(args.codes, b, kSumsOfLane, kFactorsOfWarp);
}

/// Of rows that are one matrix's.
template <class Args>
KernelWork work_in_order(const Args& args, const KernelLaunch& launch) {
  const CodeBlocking b = blocking_of(args, launch, rows_of(args.codes.product, Args::kTileRows));
  KernelWork w = work_of(args, b);
  add_asked_in_vain(w, args.codes, b);
  return w;
}

template <class Args>
KernelWork work_of_experts(const Args& args, const KernelLaunch& launch) {
  const CodeBlocking b = blocking_of(args.of(0), launch, rows_of(args.product));
  KernelWork w = work_of(args.of(0), b);
  add_plan(w, b.rows, b.output_blocks);
  return w;
}

}  // namespace

KernelWork work(const ProjectCodesNarrowArgs& args, const KernelLaunch& launch) {
  return work_in_order(args, launch);
}

KernelWork work(const ProjectCodesWideArgs& args, const KernelLaunch& launch) {
  return work_in_order(args, launch);
}

KernelWork work(const gpu::ProjectExpertsCodesNarrowArgs& args, const KernelLaunch& launch) {
  return work_of_experts(args, launch);
}

KernelWork work(const gpu::ProjectExpertsCodesWideArgs& args, const KernelLaunch& launch) {
  return work_of_experts(args, launch);
}

}  // namespace forge::sim
