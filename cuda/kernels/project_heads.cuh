// project_heads: products of single heads, each with a matrix of its own.
//
//   grid      x: tiles of 8 rows; y: panels of 32 outputs; z: heads
//   memory    as project; a head's part of a row is consecutive, the next row's a stride away
//   bits      as project
#pragma once

#include "forge/gpu/kernels/project_heads.h"
#include "project.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// This lane's output of one head of rows that follow one another.
struct WriteHeadRows {
  gptr<float> first;
  std::int64_t stride;
  bool wanted;  ///< the last panel is padded

  FORGE_DEVICE void operator()(int r, float sum) const {
    if (wanted) first[r * stride] = sum;
  }
};

FORGE_KERNEL(gpu::ProjectHeadsArgs::kThreads, 3) project_heads(gpu::ProjectHeadsArgs a) {
  SIMT_SHARED(float, work, (kWorkSize));
  SIMT_SHARED(float, partial, (kPartialSize));
  constexpr int kTileRows = gpu::ProjectArgs::kTileRows;
  const std::int64_t first_row = std::int64_t{block().x} * kTileRows;
  const std::uint32_t row_count = global(a.row_count)[0];
  if (first_row >= row_count) return;
  const auto rows = static_cast<int>(row_count - first_row);
  const int head = block().z;
  const std::int64_t first_head = first_row * a.heads + head;
  const int output = block().y * linear::kPanelOutputs + lane();
  const ProductInputs<EvenRows> in{.x = global(a.x),
                                   .stride = a.x_stride,
                                   .coded = global(a.coded),
                                   .rows = {first_head, a.heads},
                                   .row_count = rows < kTileRows ? rows : kTileRows,
                                   .inputs = a.inputs};
  multiply_panel({matrix_at(a.panels, static_cast<std::uint64_t>(head) * a.matrix_bytes), a.kind,
                  block().y, a.inputs},
                 in, {work, partial},
                 WriteHeadRows{global(a.y) + first_head * a.y_stride + output,
                               std::int64_t{a.heads} * a.y_stride, output < a.outputs});
}

}  // namespace FORGE_KERNELS
