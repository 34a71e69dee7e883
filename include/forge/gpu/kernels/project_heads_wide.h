// project_heads_wide: y_h = half_of(x_h W_h^T) for each head h of a row, with a matrix of its own,
// on tensor cores (numerics/tensor_product.h). Latent attention puts queries in terms of latents
// with it, and turns sums of latents into values.
//
// It is project_wide for the rows of one head. The matrices of heads are small, and there are many
// of them: so it takes few rows as well, in small blocks.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const void* queries`, `const void* weights` and `void* absorbed`:
//
//   const ProjectHeadsWideArgs args{.row_count = &counts->rows,
//                                   .rows_max = 64,
//                                   .x = queries,
//                                   .weights = weights,
//                                   .matrix_bytes = 128 * 512 * 2,
//                                   .heads = 16,
//                                   .inputs = 128,
//                                   .outputs = 512,
//                                   .type = numerics::HalfType::bf16,
//                                   .y = absorbed,
//                                   .y_stride = 512 + 64,
//                                   .y_type = numerics::HalfType::bf16};
//   return launch_of(args, args.shape());
#pragma once

#include <cstddef>
#include <cstdint>

#include "forge/gpu/kernels/project_wide.h"

namespace forge::gpu {

struct ProjectHeadsWideArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = ProjectWideArgs::kThreads;
  static constexpr BlockResources kResources{
      .shared_bytes = ProjectWideArgs::kResources.shared_bytes, .registers = 255};
  const std::uint32_t* row_count;
  int rows_max = 0;            ///< that the launch covers
  const void* x;               ///< [rows][H][K] of `type`
  const void* weights;         ///< of head 0, as TensorProduct::weights
  std::uint64_t matrix_bytes;  ///< from the weights of a head to those of the next
  int heads;                   ///< H
  int inputs;                  ///< K, a multiple of 8
  int outputs = 0;             ///< N
  numerics::HalfType type;
  void* y;       ///< [rows][H][y_stride] of y_type, of which the first N of each head are written
  int y_stride;  ///< at least N
  numerics::HalfType y_type;
  /// Heads are beside one another in a launch, and have few outputs each.
  WideKind kind = wide_kind(rows_max, outputs);

  /// The product of the rows of one head. Its rows of x lie H K numbers apart.
  FORGE_HOST_DEVICE ProjectWideArgs of(int head) const {
    const auto* const matrix = static_cast<const std::byte*>(weights);
    return {{.row_count = row_count,
             .rows_max = rows_max,
             .x = x,
             .weights = matrix + static_cast<std::uint64_t>(head) * matrix_bytes,
             .inputs = inputs,
             .outputs = outputs,
             .type = type},
            kind};
  }

  simt::LaunchShape shape() const {
    simt::LaunchShape shape = of(0).shape();
    shape.grid.z = heads;
    return shape;
  }
};

}  // namespace forge::gpu
