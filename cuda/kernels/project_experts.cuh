// project_experts: products of rows and the experts that they chose.
//
//   grid      x: tiles of up to 8 pairs of one expert; y: panels of 32 outputs. An expert's tiles
//             are neighbours and share its weights
//   memory    as project, but that rows of x and y are where the pairs say
//   bits      as project. Which pairs share a tile does not enter
#pragma once

#include "forge/gpu/kernels/project_experts.h"
#include "project.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// The inputs of the pairs of a tile.
struct RowsOfPairs {
  gptr<const std::uint32_t> pairs;
  std::uint32_t pairs_per_row;

  FORGE_DEVICE std::int64_t operator()(int r) const {
    const std::uint32_t pair = pairs[r];
    return pair / pairs_per_row;
  }
};

/// The outputs of the pairs of a tile.
struct WritePairs {
  gptr<float> y;  ///< y of this lane's output
  gptr<const std::uint32_t> pairs;
  int stride;
  bool wanted;  ///< the last panel is padded

  FORGE_DEVICE void operator()(int r, float sum) const {
    if (!wanted) return;
    const std::uint32_t pair = pairs[r];
    y[std::int64_t{pair} * stride] = sum;
  }
};

FORGE_KERNEL(gpu::ProjectExpertsArgs::kThreads) project_experts(gpu::ProjectExpertsArgs a) {
  SIMT_SHARED(float, work, (kWorkSize));
  SIMT_SHARED(float, partial, (kPartialSize));
  const auto index = static_cast<std::uint32_t>(block().x);
  const std::uint32_t tiles = global(a.plan.tiles_count)[0];
  const int panels = gpu::ceil_div(a.outputs, linear::kPanelOutputs);
  const std::int64_t panel = panel_of_block();
  if (index >= tiles || panel >= panels) return;
  const gpu::ExpertTile tile = global(a.plan.tiles)[index];
  const gptr<const std::uint32_t> pairs = global(a.plan.pairs) + tile.first;
  const std::int64_t output = panel * linear::kPanelOutputs + lane();
  const ProductInputs<RowsOfPairs> in{.x = global(a.x),
                                      .stride = a.inputs,
                                      .coded = global(a.coded),
                                      .rows = {pairs, static_cast<std::uint32_t>(a.pairs_per_row)},
                                      .row_count = static_cast<int>(tile.count),
                                      .inputs = a.inputs};
  multiply_panel({a.panels, a.kind, std::int64_t{tile.expert} * panels + panel, a.inputs}, in,
                 {work, partial},
                 WritePairs{global(a.y) + output, pairs, a.y_stride > 0 ? a.y_stride : a.outputs,
                            output < a.outputs});
}

}  // namespace FORGE_KERNELS
