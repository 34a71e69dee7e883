// plan_experts: a counting sort of pairs by expert, and the tiles of the product that follows.
//
//   grid      one block. A warp goes through a segment of the pairs, 32 at a time, and then again;
//             in between a thread has an expert. Each segment has a counter for each expert:
//
//                 segment    0           1
//                 expert     0 .. E-1    0 .. E-1   ...    how many pairs; then, where they begin
//
//   memory    each choice is read twice, neighbouring ones by neighbouring lanes
//   result    depends on the choices alone. What is counted together is counted in any order. Where
//             a pair goes, its place says: pairs of lower experts come before it, those of its
//             expert in segments before, and in its own segment those that its warp came to
//             earlier; of 32 at a time, those in lower lanes
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

/// Lanes with the same expert as this one: how many are lower, and whether none is higher.
struct SameExpert {
  std::uint32_t before = 0;
  bool is_last = true;

  FORGE_DEVICE void look_at(std::uint32_t expert, int other, std::uint32_t of_other) {
    if (of_other != expert) return;
    if (other < lane()) ++before;
    if (other > lane()) is_last = false;
  }
};

/// A warp's segment of the pairs, and its counters [E].
struct PlanSegment {
  gptr<const gpu::ExpertChoice> choices;
  std::uint32_t first;
  std::uint32_t end;
  sptr<std::uint32_t> counters;
  sptr<std::uint32_t> experts;  ///< [32] of the warp's pairs

  static constexpr std::uint32_t kNone = 0xffffffffu;  ///< the expert of a lane without a pair

  FORGE_DEVICE std::uint32_t expert_of(std::uint32_t pair) const {
    if (pair >= end) return kNone;
    const gpu::ExpertChoice choice = choices[pair];
    return choice.expert;
  }

  FORGE_DEVICE void count() const {
    const auto own = static_cast<std::uint32_t>(lane());
    for (std::uint32_t i = first; i < end; i += kWarpSize) {
      const std::uint32_t expert = expert_of(i + own);
      if (expert != kNone) shared_add(counters + expert, 1u);
    }
  }

  /// Once counters say where the pairs of an expert begin.
  FORGE_DEVICE void place(gptr<std::uint32_t> pairs) const {
    const auto own = static_cast<std::uint32_t>(lane());
    std::uint32_t next = expert_of(first + own);
    for (std::uint32_t i = first; i < end; i += kWarpSize) {
      const std::uint32_t expert = next;
      next = expert_of(i + kWarpSize + own);
      experts[lane()] = expert;
      sync_warp();  // and the counters are those after the pairs before
      const SameExpert same = same_expert(expert);
      std::uint32_t at = 0;
      if (expert != kNone) at = counters[expert] + same.before;
      sync_warp();
      if (expert == kNone) continue;
      pairs[at] = i + own;
      if (same.is_last) counters[expert] = at + 1;
    }
  }

  FORGE_DEVICE SameExpert same_expert(std::uint32_t expert) const {
    SameExpert same;
    for (int other = 0; other < kWarpSize; other += 4) {
      const Words4 four = load16(experts + other);
      same.look_at(expert, other, four.x);
      same.look_at(expert, other + 1, four.y);
      same.look_at(expert, other + 2, four.z);
      same.look_at(expert, other + 3, four.w);
    }
    return same;
  }
};

/// Makes places of the counts of an expert, of which the first is `place`.
FORGE_DEVICE void place_segments(sptr<std::uint32_t> counters, int segments, int experts,
                                 std::uint32_t place) {
  for (int s = 0; s < segments; ++s) {
    const std::uint32_t count = counters[s * experts];
    counters[s * experts] = place;
    place += count;
  }
}

FORGE_KERNEL(gpu::PlanExpertsArgs::kThreads, 1) plan_experts(gpu::PlanExpertsArgs a) {
  SIMT_SHARED(std::uint32_t, counters, gpu::PlanExpertsArgs::kCounters);
  SIMT_SHARED(std::uint32_t, experts, gpu::PlanExpertsArgs::kThreads);
  SIMT_SHARED(std::uint32_t, pair_sums, kPlanWarps);
  SIMT_SHARED(std::uint32_t, tile_sums, kPlanWarps);
  start_next();
  const int segments = a.segments(threads());
  for (int i = thread(); i < segments * a.experts; i += threads()) counters[i] = 0;
  wait_for_previous();
  const gpu::PassCounts counts = global(a.counts)[0];
  const std::uint32_t pairs = counts.rows * static_cast<std::uint32_t>(a.experts_per_token);
  const auto count = static_cast<std::uint32_t>(segments);
  const std::uint32_t length = (pairs + count - 1) / count;
  const auto begin_of = [&](std::uint32_t s) { return s * length < pairs ? s * length : pairs; };
  const auto own = static_cast<std::uint32_t>(warp());
  const bool has_segment = own < count;
  const PlanSegment segment{global(a.choices), begin_of(own), begin_of(own + 1),
                            counters + (has_segment ? warp() * a.experts : 0),
                            experts + warp() * kWarpSize};
  sync_block();
  if (has_segment) segment.count();
  sync_block();

  const int expert = thread();
  const bool has_expert = expert < a.experts;
  std::uint32_t chosen = 0;
  for (int s = 0; has_expert && s < segments; ++s) chosen += counters[s * a.experts + expert];
  const std::uint32_t start = sum_before(chosen, pair_sums);
  if (has_expert) place_segments(counters + expert, segments, a.experts, start);
  const auto tile_rows = static_cast<std::uint32_t>(a.tile_rows);
  const std::uint32_t tiles = (chosen + tile_rows - 1) / tile_rows;
  const std::uint32_t first_tile = sum_before(tiles, tile_sums);
  for (std::uint32_t t = 0; t < tiles; ++t) {
    const std::uint32_t left = chosen - t * tile_rows;
    global(a.plan.tiles)[first_tile + t] =
        gpu::ExpertTile{static_cast<std::uint32_t>(expert), start + t * tile_rows,
                        left < tile_rows ? left : tile_rows};
  }
  if (has_segment) segment.place(global(a.plan.pairs));
  if (expert != a.experts - 1) return;
  global(a.plan.tiles_count)[0] = first_tile + tiles;
  global(a.plan.counts)[0] = gpu::PassCounts{pairs, 0, 0, 0};
}

}  // namespace FORGE_KERNELS
