#include "experts_pass.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

/// Elements of the buffers.
struct Sizes {
  Sizes(const model::ModelConfig& model, const Capacity& c)
      : rows(c.slab_rows),
        experts(*model.experts),
        pairs(of(experts.experts_per_token)),
        scores(of(experts.experts)),
        gated(pairs * static_cast<std::uint64_t>(experts.expert_size)),
        produced(pairs * static_cast<std::uint64_t>(model.hidden_size)),
        shared(experts.shared_size > 0 ? of(model.hidden_size) : 0),
        tiles(static_cast<std::uint64_t>(expert_tiles_max(static_cast<int>(rows), experts.experts,
                                                          experts.experts_per_token))) {}

  std::uint64_t of(int width) const { return rows * static_cast<std::uint64_t>(width); }

  std::uint64_t rows;
  const model::ExpertsConfig& experts;
  std::uint64_t pairs;
  std::uint64_t scores;
  std::uint64_t gated;
  std::uint64_t produced;
  std::uint64_t shared;
  std::uint64_t tiles;
};

}  // namespace

ExpertsPass::ExpertsPass(const model::ModelConfig& model, const Capacity& capacity,
                         Allocator& allocator)
    : config_(*model.experts),
      hidden_size_(model.hidden_size),
      shared_mlp_(config_.shared_size, capacity, allocator) {
  const Sizes sizes(model, capacity);
  const auto take = [&](std::uint64_t floats, const char* name) {
    return allocator.take<float>(MemoryKind::device, floats, name);
  };
  scores_ = take(sizes.scores, "scores of experts");
  choices_ = allocator.take<ExpertChoice>(MemoryKind::device, sizes.pairs, "choices of experts");
  pairs_ = allocator.take<std::uint32_t>(MemoryKind::device, sizes.pairs, "rows by expert");
  gate_up_ = take(2 * sizes.gated, "gate and up of experts");
  gated_ = take(sizes.gated, "gated of experts");
  produced_ = take(sizes.produced, "produced by experts");
  shared_ = take(sizes.shared, "produced by shared experts");
  tiles_ = allocator.take<ExpertTile>(MemoryKind::device, sizes.tiles, "tiles of experts");
  tiles_count_ = allocator.take<std::uint32_t>(MemoryKind::device, 1, "number of tiles");
  counts_ = allocator.take<PassCounts>(MemoryKind::device, 1, "rows of experts");
}

std::uint64_t ExpertsPass::device_bytes(const model::ModelConfig& model, const Capacity& capacity) {
  const Sizes sizes(model, capacity);
  const std::uint64_t floats = sizes.scores + 3 * sizes.gated + sizes.produced + sizes.shared;
  return sizeof(float) * floats + (sizeof(ExpertChoice) + sizeof(std::uint32_t)) * sizes.pairs +
         sizeof(ExpertTile) * sizes.tiles + sizeof(std::uint32_t) + sizeof(PassCounts) +
         MlpPass::device_bytes(model.experts->shared_size, capacity);
}

void ExpertsPass::run(const DevicePass& pass, const DeviceExperts& weights, const float* x,
                      const Output& to) const {
  const ExpertPlan plan = choose(pass, weights, x);
  const auto rows = static_cast<int>(pass.all_rows().most);
  const int per_row = config_.experts_per_token;
  const auto tiles = static_cast<std::uint32_t>(expert_tiles_max(rows, config_.experts, per_row));
  const auto project = [&](const DeviceMatrices& matrices, const float* from, int pairs_per_row,
                           float* y) {
    pass.queue.launch(ProjectExpertsArgs{.plan = plan,
                                         .x = from,
                                         .panels = matrices.panels,
                                         .y = y,
                                         .inputs = matrices.inputs,
                                         .outputs = matrices.outputs,
                                         .pairs_per_row = pairs_per_row,
                                         .kind = matrices.kind},
                      tiles);
  };
  project(weights.gate_up, x, per_row, gate_up_.as<float>());
  pass.queue.launch(SiluMultiplyArgs{.counts = plan.counts,
                                     .gate_up = gate_up_.as<float>(),
                                     .gated = gated_.as<float>(),
                                     .size = weights.down.inputs},
                    static_cast<std::uint32_t>(rows * per_row));
  project(weights.down, gated_.as<float>(), 1, produced_.as<float>());
  auto* const shared = weights.shared ? shared_.as<float>() : nullptr;
  if (weights.shared) shared_mlp_.run(pass, *weights.shared, x, {.y = shared});
  pass.queue.launch(AddExpertsArgs{.counts = pass.counts,
                                   .choices = choices_.as<ExpertChoice>(),
                                   .produced = produced_.as<float>(),
                                   .shared = shared,
                                   .y = to.y,
                                   .size = hidden_size_,
                                   .experts_per_token = per_row,
                                   .accumulate = to.accumulate,
                                   .multiplier = to.multiplier},
                    pass.all_rows().most);
}

ExpertPlan ExpertsPass::choose(const DevicePass& pass, const DeviceExperts& weights,
                               const float* x) const {
  const ExpertPlan plan{.pairs = pairs_.as<std::uint32_t>(),
                        .tiles = tiles_.as<ExpertTile>(),
                        .tiles_count = tiles_count_.as<std::uint32_t>(),
                        .counts = counts_.as<PassCounts>()};
  auto* const choices = choices_.as<ExpertChoice>();
  project(pass, pass.all_rows(), x, weights.router, {.y = scores_.as<float>()});
  pass.queue.launch(ChooseExpertsArgs{.counts = pass.counts,
                                      .products = scores_.as<float>(),
                                      .bias = weights.correction_bias,
                                      .choices = choices,
                                      .experts = config_.experts,
                                      .experts_per_token = config_.experts_per_token,
                                      .groups = config_.groups,
                                      .groups_per_token = config_.groups_per_token,
                                      .group_best = config_.group_best,
                                      .sigmoid = config_.score == model::ExpertScore::sigmoid,
                                      .normalized = config_.normalized,
                                      .routed_scale = config_.routed_scale},
                    pass.all_rows().most);
  pass.queue.launch(PlanExpertsArgs{.counts = pass.counts,
                                    .choices = choices,
                                    .plan = plan,
                                    .experts = config_.experts,
                                    .experts_per_token = config_.experts_per_token});
  return plan;
}

}  // namespace forge::gpu
