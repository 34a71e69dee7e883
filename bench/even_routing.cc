#include "even_routing.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace forge {
namespace {

using gpu::ChooseExpertsArgs;
using gpu::PlanExpertsArgs;

void plan(const PlanExpertsArgs& args) {
  const std::uint32_t count =
      args.counts->rows * static_cast<std::uint32_t>(args.experts_per_token);
  std::iota(args.plan.pairs, args.plan.pairs + count, 0U);
  const auto expert_of = [&](std::uint32_t pair) { return args.choices[pair].expert; };
  std::stable_sort(args.plan.pairs, args.plan.pairs + count,
                   [&](std::uint32_t a, std::uint32_t b) { return expert_of(a) < expert_of(b); });
  const auto most = static_cast<std::uint32_t>(args.tile_rows);
  std::uint32_t tiles = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t expert = expert_of(args.plan.pairs[i]);
    gpu::ExpertTile* const last = tiles > 0 ? &args.plan.tiles[tiles - 1] : nullptr;
    if (last != nullptr && last->expert == expert && last->count < most) {
      ++last->count;
    } else {
      args.plan.tiles[tiles++] = {expert, i, 1};
    }
  }
  *args.plan.tiles_count = tiles;
  args.plan.counts->rows = count;
}

}  // namespace

void EvenRouting::run(const gpu::KernelLaunch& launch) {
  visit_args(launch, [&](const auto& args) {
    using Args = std::decay_t<decltype(args)>;
    if constexpr (std::is_same_v<Args, ChooseExpertsArgs>) choose(args);
    if constexpr (std::is_same_v<Args, PlanExpertsArgs>) plan(args);
  });
}

void EvenRouting::choose(const ChooseExpertsArgs& args) {
  std::vector<std::uint32_t> experts(static_cast<std::size_t>(args.experts));
  std::iota(experts.begin(), experts.end(), 0U);
  gpu::ExpertChoice* choice = args.choices;
  for (std::uint32_t row = 0; row < args.counts->rows; ++row) {
    std::vector<std::uint32_t> chosen;  // in ascending order, as `experts` are
    std::ranges::sample(experts, std::back_inserter(chosen), args.experts_per_token, random_);
    for (const std::uint32_t expert : chosen) *choice++ = {expert, 1.0F};
  }
}

}  // namespace forge
