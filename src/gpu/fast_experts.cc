#include "fast_experts.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {

FastExperts::FastExperts(const model::ModelConfig& model, numerics::HalfType type,
                         const Capacity& capacity, Allocator& allocator)
    : config_(*model.experts),
      hidden_size_(model.hidden_size),
      products_(type, capacity),
      has_large_(has_room(ProjectExpertsWideArgs::kResources,
                          ProjectExpertsWideArgs{.kind = WideKind::large}.shape().shared_bytes,
                          capacity)),
      routing_(config_, ProjectExpertsNarrowArgs::kTileRows, capacity, allocator) {
  const std::uint64_t rows = capacity.slab_rows;
  const std::uint64_t pairs = rows * static_cast<std::uint64_t>(config_.experts_per_token);
  gated_ = halves(allocator, pairs, config_.expert_size, "gated of experts");
  produced_ = allocator.rows(pairs, hidden_size_, "produced by experts");
  if (config_.shared_size > 0) {
    shared_gated_ = halves(allocator, rows, config_.shared_size, "gated of shared experts");
    shared_ = allocator.rows(rows, hidden_size_, "produced by shared experts");
  }
  if (config_.shared_gate) gates_ = allocator.rows(rows, 1, "gates of shared experts");
}

void FastExperts::run(const DevicePass& pass, const DeviceExperts& weights, const FastRows& x,
                      const Output& to, const NextRows& next) const {
  TensorProduct router = products_.of(pass.all_rows(), x, weights.router);
  router.y = routing_.products();
  products_.multiply(pass, router, weights.router);
  const std::optional<WideKind> wide = wide_kind_of(pass);
  routing_.run(pass, weights.correction_bias,
               wide ? block_of(*wide).rows : ProjectExpertsNarrowArgs::kTileRows);
  ExpertProduct gate_up = product_of_experts(pass, x, weights.gate_up);
  gate_up.pairs_per_row = config_.experts_per_token;
  gate_up.gated = {.h = gated_.as<void>(), .function = weights.glu};
  multiply(pass, gate_up);
  ExpertProduct down = product_of_experts(pass, {gated_.as<void>()}, weights.down);
  down.y = produced_.as<float>();
  multiply(pass, down);
  if (weights.shared) run_shared(pass, weights, x);
  pass.queue.launch(AddExpertsArgs{.counts = pass.counts,
                                   .choices = routing_.choices(),
                                   .produced = produced_.as<float>(),
                                   .shared = shared_.as<float>(),
                                   .y = to.y,
                                   .size = hidden_size_,
                                   .experts_per_token = config_.experts_per_token,
                                   .accumulate = to.accumulate,
                                   .multiplier = to.multiplier,
                                   .shared_gates = gates_.as<float>(),
                                   .next = next,
                                   .type = products_.type()},
                    pass.all_rows().most);
}

/// To shared_ and gates_.
void FastExperts::run_shared(const DevicePass& pass, const DeviceExperts& weights,
                             const FastRows& x) const {
  const RowCount rows = pass.all_rows();
  TensorProduct gate_up = products_.of(rows, x, weights.shared->gate_up);
  gate_up.gated = {.h = shared_gated_.as<void>(), .function = weights.shared->glu};
  products_.multiply(pass, gate_up, weights.shared->gate_up);
  TensorProduct down = products_.of(rows, {shared_gated_.as<void>()}, weights.shared->down);
  down.y = shared_.as<float>();
  products_.multiply(pass, down, weights.shared->down);
  if (!config_.shared_gate) return;
  TensorProduct gate = products_.of(rows, x, weights.shared_gate);
  gate.y = gates_.as<float>();
  products_.multiply(pass, gate, weights.shared_gate);
}

/// The blocks of project_experts_wide if experts get more rows, in the mean, than
/// project_experts_narrow is made for.
std::optional<WideKind> FastExperts::wide_kind_of(const DevicePass& pass) const {
  const auto experts = static_cast<std::uint32_t>(config_.experts);
  const int mean = static_cast<int>((routing_.pairs(pass).most + experts - 1) / experts);
  if (mean <= kNarrowRowsMax) return std::nullopt;
  return has_large_ ? wide_kind(mean) : WideKind::small;
}

/// Of rows that are those of pairs. What becomes of it is the caller's.
ExpertProduct FastExperts::product_of_experts(const DevicePass& pass, const FastRows& x,
                                              const DeviceMatrices& matrices) const {
  return {.plan = routing_.plan(),
          .rows_max = static_cast<int>(pass.all_rows().most),
          .tiles_max = 0,
          .x = x.h,
          .pairs_per_row = 1,
          .inputs = matrices.inputs,
          .outputs = matrices.outputs,
          .type = products_.type(),
          .weights = matrices.sections.front().panels,
          .matrix_bytes = matrices.matrix_bytes,
          .norm = x.norm,
          .bias = matrices.bias};
}

void FastExperts::multiply(const DevicePass& pass, const ExpertProduct& product) const {
  const auto launch = [&](auto args) {
    args.product.tiles_max = routing_.tiles_max(pass, args.tile_rows());
    pass.queue.launch(args);
  };
  if (const std::optional<WideKind> wide = wide_kind_of(pass)) {
    launch(ProjectExpertsWideArgs{product, *wide});
  } else {
    launch(ProjectExpertsNarrowArgs{product});
  }
}

}  // namespace forge::gpu
