// project_experts: products of rows and the experts that they chose.
//
//   grid      x: tiles of up to 8 pairs of one expert; y: panels of 32 outputs. An expert's tiles
//             are neighbours and share its weights
//   memory    as project, but that rows of x and y are where the pairs say
//   bits      the bias too, as project. Which pairs share a tile does not enter
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
  const gpu::ProjectExpertsArgs& a;
  gptr<const std::uint32_t> pairs;
  std::uint32_t expert;
  std::int64_t output;

  FORGE_DEVICE void operator()(int r, float sum) const {
    if (output >= a.outputs) return;  // of the last panel, which is padded
    const std::uint32_t pair = pairs[r];
    const std::int64_t stride = a.y_stride > 0 ? a.y_stride : a.outputs;
    float product = sum;
    if (a.bias != nullptr) product = product + global(a.bias)[expert * stride + output];
    global(a.y)[pair * stride + output] = product;
  }
};

FORGE_KERNEL(gpu::ProjectExpertsArgs::kThreads, 3) project_experts(gpu::ProjectExpertsArgs a) {
  SIMT_SHARED(float, work, (kWorkSize));
  SIMT_SHARED(float, partial, (kPartialSize));
  const auto index = static_cast<std::uint32_t>(block().x);
  const std::uint32_t tiles = global(a.plan.tiles_count)[0];
  const int panels = gpu::ceil_div(a.outputs, linear::kPanelOutputs);
  const std::int64_t panel = panel_of_block();
  if (index >= tiles || panel >= panels) return;
  const gpu::ExpertTile tile = global(a.plan.tiles)[index];
  const gptr<const std::uint32_t> pairs = global(a.plan.pairs) + tile.first;
  const ProductInputs<RowsOfPairs> in{.x = global(a.x),
                                      .stride = a.inputs,
                                      .coded = global(a.coded),
                                      .rows = {pairs, static_cast<std::uint32_t>(a.pairs_per_row)},
                                      .row_count = static_cast<int>(tile.count),
                                      .inputs = a.inputs};
  multiply_panel({matrix_at(a.panels, tile.expert * a.matrix_bytes), a.kind, panel, a.inputs}, in,
                 {work, partial},
                 WritePairs{a, pairs, tile.expert, panel * linear::kPanelOutputs + lane()});
}

}  // namespace FORGE_KERNELS
