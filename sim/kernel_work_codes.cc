// The formulas of products with rows in 8 bits and weights of codes, of fast numerics.
#include "product_work.h"

namespace forge::sim {

using gpu::CodeProduct;
using gpu::KernelLaunch;
using gpu::ProjectCodesFewArgs;
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
  std::uint64_t head_bytes;     ///< that are read of each head of a panel, or of its blocks
};

/// Panels of a matrix, gates and ups.
std::uint64_t all_panels(const CodeProduct& codes) {
  return size_of(codes.panels()) * (codes.product.is_gated() ? 2 : 1);
}

/// Bytes of the first groups of a panel, and of the heads before them.
std::uint64_t bytes_of_groups(const CodeProduct& codes, std::uint64_t groups,
                              std::uint64_t head_bytes) {
  constexpr std::uint64_t kBlock = linear::codes::kBlockGroups;
  const std::uint64_t heads =
      linear::codes::has_blocks(codes.kind) ? chain::turns(groups, kBlock) : 1;
  return heads * head_bytes + groups * linear::codes::group_bytes(codes.kind);
}

std::uint64_t groups_of(const CodeProduct& codes) {
  return size_of(linear::codes::group_count(codes.product.inputs));
}

/// What is read of rows and weights, and the word that says how many rows, or tiles, there are.
void add_factors(KernelWork& w, const CodeProduct& codes, const CodeBlocking& b) {
  const gpu::TensorProduct& p = codes.product;
  const std::uint64_t groups = groups_of(codes);
  const std::uint64_t weights = all_panels(codes) * bytes_of_groups(codes, groups, b.head_bytes);
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
      all_panels(codes) *
      bytes_of_groups(codes, std::min(groups_of(codes), b.groups_ahead), b.head_bytes);
  if (b.rows.count == 0) w.bytes_read += asked;
  w.block_bytes += (b.row_blocks - b.rows.tiles) * asked;
}

/// Of each sum of a group four operations, two of them fused, and as many more where there are
/// minima.
std::uint64_t operations_of_group(const CodeProduct& codes) {
  return linear::has_minima(codes.kind) ? 6 : 4;
}

/// Sums of the groups of so many rows.
std::uint64_t sums_of_groups(const CodeProduct& codes, std::uint64_t rows) {
  return rows * all_panels(codes) * size_of(linear::kPanelOutputs) * groups_of(codes);
}

/// Sums of integers on tensor cores, and what is done with them.
void add_operations(KernelWork& w, const CodeProduct& codes, const CodeBlocking& b) {
  const std::uint64_t steps = linear::has_half_scales(codes.kind) ? 2 : 1;
  const std::uint64_t sums = sums_of_groups(codes, b.rows.tiles * b.tile_rows);
  w.matrix_flops += 2 * size_of(linear::codes::kGroup) * steps * sums;
  w.flops += operations_of_group(codes) * sums;
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
          .stages = chain::turns(groups_of(args.codes), size_of(Args::kStageGroups)),
          .head_bytes = linear::codes::head_bytes(args.codes.kind)};
}

CodeBlocking blocking_of(const ProjectCodesWideArgs& args, const KernelLaunch& launch,
                         const RowsOfLaunch& rows) {
  using Args = ProjectCodesWideArgs;
  return {.rows = rows,
          .tile_rows = size_of(Args::kTileRows),
          .row_blocks = size_of(launch.shape.grid.x),
          .output_blocks = size_of(launch.shape.grid.y),
          .groups_ahead = size_of((Args::kStages - 1) * Args::kStageGroups),
          .stages = chain::turns(groups_of(args.codes), size_of(Args::kStageGroups)),
          .head_bytes = linear::codes::head_bytes(args.codes.kind)};
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

/// Products of integers are counted as those of floats, as project has them (ProjectArgs).
void add_operations(KernelWork& w, const ProjectCodesFewArgs& args, std::uint64_t rows) {
  const std::uint64_t products = 2 * size_of(linear::codes::kGroup);
  w.flops += (products + operations_of_group(args.codes)) * sums_of_groups(args.codes, rows);
}

/// A warp multiplies its groups, two under way, and the chain of an output follows: it goes through
/// all of them. Rows come first.
void add_chain(KernelWork& w, const ProjectCodesFewArgs& args, std::uint64_t rows) {
  constexpr std::uint64_t kUnpacking = 2 * 8;  // of two outputs' quads
  constexpr std::uint64_t kRowPieces = 4;      // a thread has under way
  const std::uint64_t groups = groups_of(args.codes);
  const std::uint64_t items = chain::turns(groups, size_of(args.item_groups()));
  const std::uint64_t rounds = chain::turns(groups, size_of(args.round_groups()));
  const std::uint64_t pieces = groups * sizeof(gpu::RowGroup) / 16;
  const std::uint64_t threads = size_of(args.shape().threads);
  const std::uint64_t of_sum = linear::has_minima(args.codes.kind) ? 2 : 1;  // fused
  w.chain_loads = 2 + rows * chain::turns(pieces, kRowPieces * threads) +
                  chain::turns(items, size_of(ProjectCodesFewArgs::kItems));
  w.chain_operations = rounds * (chain::kBarrier + chain::kSharedLoad) +
                       items * (kUnpacking + rows * 2 * size_of(linear::codes::kQuads)) +
                       groups * of_sum;
}

}  // namespace

KernelWork work(const ProjectCodesFewArgs& args, const KernelLaunch& launch) {
  constexpr std::uint64_t kTable = 16;  // of its head, the numbers alone
  const CodeProduct& codes = args.codes;
  const RowsOfLaunch rows = rows_of(codes.product, ProjectCodesFewArgs::kTileRows);
  const CodeBlocking b{.rows = rows,
                       .tile_rows = size_of(ProjectCodesFewArgs::kTileRows),
                       .row_blocks = size_of(launch.shape.grid.x),
                       .output_blocks = size_of(codes.panels()),
                       .groups_ahead = size_of(args.round_groups()),
                       .stages = chain::turns(groups_of(codes), size_of(args.round_groups())),
                       .head_bytes = codes.kind == linear::PanelKind::table4
                                         ? kTable
                                         : linear::codes::head_bytes(codes.kind)};
  KernelWork w;
  add_factors(w, codes, b);
  add_operations(w, args, rows.count);
  add_results(w, codes.product, rows);
  add_chain(w, args, rows.most);
  add_norm_chain(w, codes.product, chain::turns(rows.most, size_of(args.kChainWarps)), 1);
  add_asked_in_vain(w, codes, b);
  return w;
}

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
