// CodeProduct: TensorProduct with weights of codes and rows in 8 bits (code_rows.h).
//
// The product of a row and an output is that of linear/product.h, bit for bit: the 32 products of a
// group are added as integers, which is exact, and the groups are added by fma, ascending. What
// becomes of it is what tensor_product.h says, with v = s x W^T + bias.
//
// Three kernels compute it, with the same bits. project_codes_few takes 4 rows, where all that
// counts is how fast weights come from memory, and multiplies by dot products; the others do so on
// tensor cores: project_codes_narrow 16 rows, and project_codes_wide 64, where what counts is how
// often what has come is multiplied.
//
// All read whole panels of 32 outputs, those on tensor cores through a ring in shared memory. A
// stage of the ring is some groups of the panels of a block, and of its rows:
//
//   rows      of each: its groups, and 16 bytes more, so that eight rows have all banks
//   panels    of each: the head of the panel or of the block of eight groups, if the kind has one,
//             and then the groups (linear/code_layout.h)
#pragma once

#include "forge/gpu/kernels/code_rows.h"
#include "forge/gpu/kernels/tensor_product.h"
#include "forge/linear/code_layout.h"

namespace forge::gpu {

/// Stages of a ring, at most.
inline constexpr int kCodeStagesMax = 9;

struct CodeProduct {
  /// x: RowGroup [rows][ceil(K / 32)]. weights: panels of `kind`. K may be any. If outputs are
  /// gated, F is a multiple of 32: gates and ups are panels of their own.
  TensorProduct product;
  linear::PanelKind kind;

  /// Panels of weights that blocks go through: all, or those of gates.
  FORGE_HOST_DEVICE int panels() const {
    return ceil_div(product.columns(), linear::kPanelOutputs);
  }
};

/// Bytes of so many groups of a row in a stage.
FORGE_HOST_DEVICE constexpr int code_row_bytes(int groups) {
  return groups * static_cast<int>(sizeof(RowGroup)) + 16;
}

/// Bytes of so many groups of a panel in a stage.
FORGE_HOST_DEVICE constexpr int code_panel_bytes(linear::PanelKind kind, int groups) {
  return static_cast<int>(linear::codes::head_bytes(kind)) +
         groups * static_cast<int>(linear::codes::group_bytes(kind));
}

}  // namespace forge::gpu
