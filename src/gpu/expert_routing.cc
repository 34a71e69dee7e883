#include "expert_routing.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {

ExpertRouting::ExpertRouting(const model::ExpertsConfig& config, int tile_rows,
                             const Capacity& capacity, Allocator& allocator)
    : config_(config) {
  const auto rows = static_cast<int>(capacity.slab_rows);
  const std::size_t pairs =
      std::size_t{capacity.slab_rows} * static_cast<std::size_t>(config.experts_per_token);
  const auto tiles = static_cast<std::size_t>(
      expert_tiles_max(rows, config.experts, config.experts_per_token, tile_rows));
  constexpr auto kDevice = MemoryKind::device;
  products_ = allocator.rows(capacity.slab_rows, config.experts, "scores of experts");
  choices_ = allocator.take<ExpertChoice>(kDevice, pairs, "choices of experts");
  pairs_ = allocator.take<std::uint32_t>(kDevice, pairs, "rows by expert");
  tiles_ = allocator.take<ExpertTile>(kDevice, tiles, "tiles of experts");
  tiles_count_ = allocator.take<std::uint32_t>(kDevice, 1, "number of tiles");
  counts_ = allocator.take<PassCounts>(kDevice, 1, "rows of experts");
}

void ExpertRouting::run(const DevicePass& pass, const float* correction_bias, int tile_rows) const {
  const std::uint32_t rows = pass.all_rows().most;
  auto* const choices = choices_.as<ExpertChoice>();
  pass.queue.launch(ChooseExpertsArgs{.counts = pass.counts,
                                      .products = products(),
                                      .bias = correction_bias,
                                      .choices = choices,
                                      .experts = config_.experts,
                                      .experts_per_token = config_.experts_per_token,
                                      .groups = config_.groups,
                                      .groups_per_token = config_.groups_per_token,
                                      .group_best = config_.group_best,
                                      .sigmoid = config_.score == model::ExpertScore::sigmoid,
                                      .normalized = config_.normalized,
                                      .routed_scale = config_.routed_scale},
                    rows);
  pass.queue.launch(PlanExpertsArgs{.counts = pass.counts,
                                    .choices = choices,
                                    .plan = plan(),
                                    .experts = config_.experts,
                                    .experts_per_token = config_.experts_per_token,
                                    .tile_rows = tile_rows},
                    rows);
}

ExpertPlan ExpertRouting::plan() const {
  return {.pairs = pairs_.as<std::uint32_t>(),
          .tiles = tiles_.as<ExpertTile>(),
          .tiles_count = tiles_count_.as<std::uint32_t>(),
          .counts = counts_.as<PassCounts>()};
}

int ExpertRouting::tiles_max(const DevicePass& pass, int tile_rows) const {
  return expert_tiles_max(static_cast<int>(pass.all_rows().most), config_.experts,
                          config_.experts_per_token, tile_rows);
}

RowCount ExpertRouting::pairs(const DevicePass& pass) const {
  return {&plan().counts->rows,
          pass.all_rows().most * static_cast<std::uint32_t>(config_.experts_per_token)};
}

}  // namespace forge::gpu
