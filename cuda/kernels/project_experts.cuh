// project_experts: products of rows and the experts that they chose.
//
//   grid      x: tiles of up to 8 pairs of one expert; y: panels of 32 outputs. An expert's tiles
//             are neighbours and share its weights
//   memory    as project, but that rows of x and y are where the pairs say
//   bits      product_reference, as project. Which pairs share a tile does not enter
#pragma once

#include "forge/gpu/kernels/project_experts.h"
#include "project.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// The inputs of the pairs of a tile.
struct RowsOfPairs {
  gptr<const float> x;
  gptr<const std::uint32_t> pairs;
  std::uint32_t pairs_per_row;
  int inputs;

  FORGE_DEVICE gptr<const float> operator()(int r) const {
    const std::uint32_t pair = pairs[r];
    return x + std::int64_t{pair / pairs_per_row} * inputs;
  }
};

/// The outputs of the pairs of a tile.
struct WritePairs {
  gptr<float> y;  ///< y of this lane's output
  gptr<const std::uint32_t> pairs;
  int outputs;
  bool wanted;  ///< the last panel is padded

  FORGE_DEVICE void operator()(int r, float sum) const {
    if (!wanted) return;
    const std::uint32_t pair = pairs[r];
    y[std::int64_t{pair} * outputs] = sum;
  }
};

FORGE_KERNEL(gpu::ProjectExpertsArgs::kThreads) project_experts(gpu::ProjectExpertsArgs a) {
  SIMT_SHARED(float, staged, (kProjectWarps * kStagedFloats));
  SIMT_SHARED(float, partial, (kProjectWarps * kPartialFloats));
  const auto index = static_cast<std::uint32_t>(block().x);
  const std::uint32_t tiles = global(a.plan.tiles_count)[0];
  const int panels = gpu::ceil_div(a.outputs, linear::kPanelOutputs);
  const std::int64_t panel = panel_of_block();
  if (index >= tiles || panel >= panels) return;
  const gpu::ExpertTile tile = global(a.plan.tiles)[index];
  const gptr<const std::uint32_t> pairs = global(a.plan.pairs) + tile.first;
  const std::int64_t output = panel * linear::kPanelOutputs + lane();
  multiply_panel(
      {a.panels, a.kind, std::int64_t{tile.expert} * panels + panel, a.inputs},
      RowsOfPairs{global(a.x), pairs, static_cast<std::uint32_t>(a.pairs_per_row), a.inputs},
      static_cast<int>(tile.count), {staged, partial},
      WritePairs{global(a.y) + output, pairs, a.outputs, output < a.outputs});
}

}  // namespace FORGE_KERNELS
