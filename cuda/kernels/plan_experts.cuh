// plan_experts: a counting sort of pairs by expert, and the tiles of the product that follows.
//
//   grid      one block. Of S E threads, E experts, thread t has expert t / S and segment t % S of
//             the pairs:
//
//                 thread    0    1   ..  S-1   S   S+1  ..
//                 expert    0    0        0    1    1
//                 segment   0    1       S-1   0    1
//
//             So the pairs of the threads before it are what comes before its own in the plan:
//             those of lower experts, and those of its expert in segments before
//   memory    a thread reads each choice of its segment twice; a warp has neighbouring segments,
//             and a sector serves the next few turns. Choices are few beside the weights that the
//             tiles save reading
//   result    depends on the choices alone: no thread adds to what another counts, and S does not
//             enter. Sums of counts over the threads before it say where a thread's pairs and the
//             tiles of its expert start, and it writes the pairs, and every S-th tile
#pragma once

#include "forge/gpu/kernels/plan_experts.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

inline constexpr int kPlanThreads = gpu::PlanExpertsArgs::kThreads;
inline constexpr int kPlanWarps = kPlanThreads / kWarpSize;

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

/// The pairs of a thread: of its expert, from `first` up to `end`. A thread that has no expert has
/// none.
struct PairsOfThread {
  gptr<const gpu::ExpertChoice> choices;
  std::uint32_t expert;
  std::uint32_t first;
  std::uint32_t end;

  template <class Body>
  FORGE_DEVICE void for_each(const Body& body) const {
    for (std::uint32_t i = first; i < end; ++i) {
      const gpu::ExpertChoice choice = choices[i];
      if (choice.expert == expert) body(i);
    }
  }
};

FORGE_KERNEL(gpu::PlanExpertsArgs::kThreads) plan_experts(gpu::PlanExpertsArgs a) {
  SIMT_SHARED(std::uint32_t, pair_sums, kPlanWarps);
  SIMT_SHARED(std::uint32_t, tile_sums, kPlanWarps);
  SIMT_SHARED(std::uint32_t, places, kPlanThreads);
  start_next();
  wait_for_previous();
  const gpu::PassCounts counts = global(a.counts)[0];
  const std::uint32_t pairs = counts.rows * static_cast<std::uint32_t>(a.experts_per_token);
  const auto thread_count = static_cast<std::uint32_t>(threads());
  const std::uint32_t segments = thread_count / static_cast<std::uint32_t>(a.experts);
  const std::uint32_t expert = static_cast<std::uint32_t>(thread()) / segments;
  const std::uint32_t segment = static_cast<std::uint32_t>(thread()) % segments;
  const std::uint32_t length = (pairs + segments - 1) / segments;
  const auto begin_of = [&](std::uint32_t s) { return s * length < pairs ? s * length : pairs; };
  const PairsOfThread own{global(a.choices), expert, begin_of(segment), begin_of(segment + 1)};

  std::uint32_t count = 0;
  own.for_each([&](std::uint32_t) { ++count; });
  std::uint32_t place = sum_before(count, pair_sums);
  places[thread()] = place;
  sync_block();
  const auto start_of = [&](std::uint32_t e) -> std::uint32_t {
    if (e * segments >= thread_count) return pairs;
    return places[e * segments];
  };
  const std::uint32_t start = start_of(expert);
  const std::uint32_t end = start_of(expert + 1);
  const auto tile_rows = static_cast<std::uint32_t>(a.tile_rows);
  const std::uint32_t tiles = (end - start + tile_rows - 1) / tile_rows;
  const bool is_first = segment == 0;
  std::uint32_t first_tile = sum_before(is_first ? tiles : 0, tile_sums);
  if (!is_first) first_tile -= tiles;

  for (std::uint32_t t = segment; t < tiles; t += segments) {
    const std::uint32_t first = start + t * tile_rows;
    const std::uint32_t left = end - first;
    global(a.plan.tiles)[first_tile + t] =
        gpu::ExpertTile{expert, first, left < tile_rows ? left : tile_rows};
  }
  own.for_each([&](std::uint32_t i) { global(a.plan.pairs)[place++] = i; });
  if (thread() != threads() - 1) return;
  global(a.plan.tiles_count)[0] = first_tile + tiles;
  global(a.plan.counts)[0] = gpu::PassCounts{pairs, 0, 0, 0};
}

}  // namespace FORGE_KERNELS
