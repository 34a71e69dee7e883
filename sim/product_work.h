// What the formulas of products on tensor cores share (kernel_work_tensor.cc,
// kernel_work_codes.cc).
#pragma once

#include "forge/gpu/kernels/expert_product.h"
#include "forge/gpu/kernels/tensor_product.h"
#include "kernel_chain.h"

namespace forge::sim {

inline constexpr std::uint64_t kHalf = 2;  ///< bytes

/// The rows of a launch.
struct RowsOfLaunch {
  std::uint64_t count;     ///< of the result
  std::uint64_t sources;   ///< rows of x, some of which are multiplied by several matrices
  std::uint64_t most;      ///< in a tile
  std::uint64_t tiles;     ///< of rows
  std::uint64_t matrices;  ///< that they are multiplied by
};

/// Those of a product with one matrix.
RowsOfLaunch rows_of(const gpu::TensorProduct& p, int tile_rows);

/// The pairs of a product of experts, in its tiles.
RowsOfLaunch rows_of(const gpu::ExpertProduct& p);

/// What a product of experts reads of its plan, so many blocks each tile of it.
void add_plan(KernelWork& w, const RowsOfLaunch& rows, std::uint64_t output_blocks);

/// What becomes of the products of all rows, beside y and gates.
void add_results(KernelWork& w, const gpu::TensorProduct& p, const RowsOfLaunch& rows);

/// The sums of squares of `rows` rows, which a warp makes, those of `at_once` side by side.
void add_norm_chain(KernelWork& w, const gpu::TensorProduct& p, std::uint64_t rows,
                    std::uint64_t at_once);

/// Until a step of a tensor core has its sums: 33 to 36 cycles (Luo et al., arXiv:2402.13499).
inline constexpr std::uint64_t kStepLatency = 9;

}  // namespace forge::sim
