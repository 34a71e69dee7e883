// plan_experts: a counting sort of pairs by expert, and the tiles of the product that follows.
//
//   grid      one block, a thread an expert
//   memory    every thread reads every choice, all threads the same one at a time: one request a
//             warp. Choices are few beside the weights that the tiles save reading
//   result    depends on the choices alone: no thread adds to what another counts. Thread e counts
//             its pairs, sums of counts over the threads before it say where its pairs and its
//             tiles start, and it writes both
#pragma once

#include "forge/gpu/kernels/plan_experts.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr int kPlanWarps = gpu::PlanExpertsArgs::kThreads / kWarpSize;

/// The sum of `own` over all threads before this one. warp_sums: [warps of the block], shared and
/// not yet used.
FORGE_DEVICE std::uint32_t sum_before(std::uint32_t own, sptr<std::uint32_t> warp_sums) {
  std::uint32_t sum = own;  // of this lane and those before it
  for (int distance = 1; distance < kWarpSize; distance *= 2) {
    const std::uint32_t before = shuffle(sum, lane() < distance ? lane() : lane() - distance);
    if (lane() >= distance) sum += before;
  }
  if (lane() == kWarpSize - 1) warp_sums[warp()] = sum;
  sync_block();
  sum -= own;
  for (int w = 0; w < warp(); ++w) sum += warp_sums[w];
  return sum;
}

FORGE_KERNEL(gpu::PlanExpertsArgs::kThreads) plan_experts(gpu::PlanExpertsArgs a) {
  SIMT_SHARED(std::uint32_t, pair_sums, kPlanWarps);
  SIMT_SHARED(std::uint32_t, tile_sums, kPlanWarps);
  constexpr std::uint32_t kTileRows = gpu::ExpertPlan::kTileRows;
  const gpu::PassCounts counts = global(a.counts)[0];
  const std::uint32_t pairs = counts.rows * static_cast<std::uint32_t>(a.experts_per_token);
  const gptr<const gpu::ExpertChoice> choices = global(a.choices);
  const auto expert = static_cast<std::uint32_t>(thread());

  std::uint32_t own = 0;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    const gpu::ExpertChoice choice = choices[i];
    if (choice.expert == expert) ++own;
  }
  const std::uint32_t own_tiles = (own + kTileRows - 1) / kTileRows;
  std::uint32_t place = sum_before(own, pair_sums);
  const std::uint32_t first_tile = sum_before(own_tiles, tile_sums);

  for (std::uint32_t t = 0; t < own_tiles; ++t) {
    const std::uint32_t left = own - t * kTileRows;
    global(a.plan.tiles)[first_tile + t] =
        gpu::ExpertTile{expert, place + t * kTileRows, left < kTileRows ? left : kTileRows};
  }
  for (std::uint32_t i = 0; i < pairs && own > 0; ++i) {
    const gpu::ExpertChoice choice = choices[i];
    if (choice.expert == expert) global(a.plan.pairs)[place++] = i;
  }
  if (thread() != threads() - 1) return;
  global(a.plan.tiles_count)[0] = first_tile + own_tiles;
  global(a.plan.counts)[0] = gpu::PassCounts{pairs, 0, 0, 0};
}

}  // namespace FORGE_KERNELS
