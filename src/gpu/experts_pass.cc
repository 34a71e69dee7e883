#include "experts_pass.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

constexpr int kTileRows = ProjectExpertsArgs::kTileRows;

}  // namespace

ExpertsPass::ExpertsPass(const model::ModelConfig& model, const Capacity& capacity,
                         Allocator& allocator)
    : config_(*model.experts),
      hidden_size_(model.hidden_size),
      routing_(config_, kTileRows, capacity, allocator),
      shared_mlp_(config_.shared_size, capacity, allocator) {
  const model::ExpertsConfig& e = config_;
  const std::size_t rows = capacity.slab_rows;
  const std::size_t pairs = rows * static_cast<std::size_t>(e.experts_per_token);
  gate_up_ = allocator.rows(pairs, 2 * e.expert_size, "gate and up of experts");
  gated_ = allocator.rows(pairs, e.expert_size, "gated of experts");
  produced_ = allocator.rows(pairs, hidden_size_, "produced by experts");
  if (e.shared_size > 0) shared_ = allocator.rows(rows, hidden_size_, "produced by shared experts");
  if (e.shared_gate) gates_ = allocator.rows(rows, 1, "gates of shared experts");
}

void ExpertsPass::run(const DevicePass& pass, const DeviceExperts& weights, const float* x,
                      const Output& to) const {
  gpu::project(pass, pass.all_rows(), x, weights.router, {.y = routing_.products()});
  routing_.run(pass, weights.correction_bias, kTileRows);
  const ExpertPlan plan = routing_.plan();
  const int per_row = config_.experts_per_token;
  const auto tiles = static_cast<std::uint32_t>(routing_.tiles_max(pass, kTileRows));
  const auto project = [&](const DeviceMatrices& matrices, const float* from, RowCount from_rows,
                           int pairs_per_row, float* y) {
    const auto launch = [&](const DeviceSection& section, const RowGroup* coded) {
      const int first = section.first_output;
      pass.queue.launch(
          ProjectExpertsArgs{.plan = plan,
                             .x = from,
                             .panels = section.panels,
                             .matrix_bytes = matrices.matrix_bytes,
                             .y = y + first,
                             .inputs = matrices.inputs,
                             .outputs = section.outputs,
                             .y_stride = matrices.outputs,
                             .pairs_per_row = pairs_per_row,
                             .kind = section.kind,
                             .coded = coded,
                             .bias = matrices.bias == nullptr ? nullptr : matrices.bias + first},
          tiles);
    };
    for_each_section(pass, from_rows, {from}, matrices, launch);
  };
  const RowCount pairs = routing_.pairs(pass);
  project(weights.gate_up, x, pass.all_rows(), per_row, gate_up_.as<float>());
  pass.queue.launch(GluArgs{.counts = plan.counts,
                            .gate_up = gate_up_.as<float>(),
                            .gated = gated_.as<float>(),
                            .size = weights.down.inputs,
                            .function = weights.glu},
                    pairs.most);
  project(weights.down, gated_.as<float>(), pairs, 1, produced_.as<float>());
  const Shared shared = run_shared(pass, weights, x);
  pass.queue.launch(AddExpertsArgs{.counts = pass.counts,
                                   .choices = routing_.choices(),
                                   .produced = produced_.as<float>(),
                                   .shared = shared.produced,
                                   .y = to.y,
                                   .size = hidden_size_,
                                   .experts_per_token = per_row,
                                   .accumulate = to.accumulate,
                                   .multiplier = to.multiplier,
                                   .shared_gates = shared.gates},
                    pass.all_rows().most);
}

ExpertsPass::Shared ExpertsPass::run_shared(const DevicePass& pass, const DeviceExperts& weights,
                                            const float* x) const {
  if (!weights.shared) return {};
  shared_mlp_.run(pass, *weights.shared, x, {.y = shared_.as<float>()});
  if (!config_.shared_gate) return {.produced = shared_.as<float>()};
  project(pass, pass.all_rows(), x, weights.shared_gate, {.y = gates_.as<float>()});
  return {.produced = shared_.as<float>(), .gates = gates_.as<float>()};
}

}  // namespace forge::gpu
