// ExpertProduct: TensorProduct for pairs of a row and an expert (expert_data.h): v = s x W^T + bias
// with the matrix and the bias of the expert, and then y = v, or gated = half_of(f(v_gate, v_up)).
//
// Row n of the result is that of pair n; it has the bits that the row alone has with its expert's
// matrix. A block multiplies a tile of pairs of one expert.
//
// Two kernels compute it, with the same bits, as two compute TensorProduct: project_experts_narrow
// takes tiles of up to 16 pairs, project_experts_wide of up to 64 or 128. With weights of codes and
// rows in 8 bits (code_product.h) these are project_experts_codes_narrow, of up to 16 pairs, and
// project_experts_codes_wide, of up to 64.
//
// How many rows an expert gets, only the device knows, so whoever launches goes by how many rows
// there are. Those of codes go by the mean, A rows / E: up to kNarrowRowsMax it is the narrow one.
// Of 16 bits it is the narrow one for up to kNarrowExpertRowsMax rows, and then wide_kind
// (project_wide.h) of the mean: its blocks are few for each expert, and read as much.
#pragma once

#include "forge/gpu/kernels/expert_data.h"
#include "forge/gpu/kernels/tensor_product.h"

namespace forge::gpu {

/// Rows of a pass up to which project_experts_narrow takes them.
inline constexpr int kNarrowExpertRowsMax = 4;

struct ExpertProduct {
  ExpertPlan plan;    ///< of tiles that the kernel takes
  int rows_max;       ///< rows that the launch covers; no expert has more pairs
  int tiles_max;      ///< tiles that it covers: expert_tiles_max
  const void* x;      ///< [rows][K] of `type`, or RowGroup [rows][ceil(K / 32)] for codes: the
                      ///< row of pair n is n / pairs_per_row
  int pairs_per_row;  ///< A if x are the rows of the pass, 1 if they are those of pairs
  int inputs;         ///< K, a multiple of 8; with codes any
  int outputs;        ///< N; with codes that are gated a multiple of 64, as CodeProduct says
  numerics::HalfType type;
  const void* weights;          ///< of expert 0, as TensorProduct::weights, or panels of codes
  std::uint64_t matrix_bytes;   ///< from the weights of an expert to those of the next
  RowNorm norm = {};            ///< of x
  const float* bias = nullptr;  ///< [E][N] or null
  float* y = nullptr;           ///< [T A][N]
  Gated gated = {};

  /// That of the rows of one expert, wherever they lie.
  FORGE_HOST_DEVICE TensorProduct of(std::uint32_t expert) const {
    const auto* const matrix = static_cast<const std::byte*>(weights) + expert * matrix_bytes;
    const std::uint64_t first_bias = std::uint64_t{expert} * static_cast<std::uint64_t>(outputs);
    return {.row_count = nullptr,
            .rows_max = rows_max,
            .x = x,
            .weights = matrix,
            .inputs = inputs,
            .outputs = outputs,
            .type = type,
            .norm = norm,
            .bias = bias == nullptr ? nullptr : bias + first_bias,
            .y = y,
            .gated = gated};
  }
};

}  // namespace forge::gpu
