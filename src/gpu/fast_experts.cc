#include "fast_experts.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

bool has_codes(const DeviceMatrices& matrices) {
  return linear::has_codes(matrices.sections.front().kind);
}

}  // namespace

FastExperts::FastExperts(const model::ModelConfig& model, numerics::HalfType type,
                         const Capacity& capacity, Allocator& allocator)
    : config_(*model.experts),
      hidden_size_(model.hidden_size),
      products_(type, capacity),
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
  products_.project(pass, x, weights.router, routing_.products());
  const std::optional<WideKind> wide = wide_kind_of(pass, weights);
  routing_.run(pass, weights.correction_bias,
               wide ? block_of(*wide).rows : ProjectExpertsNarrowArgs::kTileRows);
  ExpertProduct gate_up = product_of_experts(pass, x, weights.gate_up);
  gate_up.pairs_per_row = config_.experts_per_token;
  gate_up.gated = {.h = gated_.as<void>(), .function = weights.glu};
  multiply(pass, gate_up, weights.gate_up, {pass.all_rows(), wide});
  ExpertProduct down = product_of_experts(pass, {gated_.as<void>()}, weights.down);
  down.y = produced_.as<float>();
  multiply(pass, down, weights.down, {routing_.pairs(pass), wide});
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
  TensorProduct gate_up = products_.of(pass.all_rows(), x, weights.shared->gate_up);
  gate_up.gated = {.h = shared_gated_.as<void>(), .function = weights.shared->glu};
  products_.multiply(pass, gate_up, weights.shared->gate_up);
  products_.project(pass, {shared_gated_.as<void>()}, weights.shared->down, shared_.as<float>());
  if (config_.shared_gate) {
    products_.project(pass, x, weights.shared_gate, gates_.as<float>());
  }
}

/// The blocks of project_experts_wide if there are more rows than project_experts_narrow is worth
/// taking (expert_product.h). Beside codes they have as many rows as those of codes.
std::optional<WideKind> FastExperts::wide_kind_of(const DevicePass& pass,
                                                  const DeviceExperts& weights) const {
  static_assert(block_of(WideKind::small).rows == ProjectExpertsCodesWideArgs::kTileRows);
  static_assert(ProjectExpertsNarrowArgs::kTileRows == ProjectExpertsCodesNarrowArgs::kTileRows);
  const bool of_codes = has_codes(weights.gate_up) || has_codes(weights.down);
  const int rows = static_cast<int>(pass.all_rows().most);
  const int mean = ceil_div(static_cast<int>(routing_.pairs(pass).most), config_.experts);
  const bool is_narrow = of_codes ? mean <= kNarrowRowsMax : rows <= kNarrowExpertRowsMax;
  if (is_narrow) return std::nullopt;
  return of_codes ? WideKind::small : wide_kind(mean);
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

/// Of a matrix of one section (fast_shapes.h).
void FastExperts::multiply(const DevicePass& pass, const ExpertProduct& product,
                           const DeviceMatrices& matrices, const Tiles& tiles) const {
  const Vectors x{.halves = product.x, .type = products_.type()};
  for_each_section(pass, tiles.rows, x, matrices,
                   [&](const DeviceSection& section, const RowGroup* coded) {
                     if (coded == nullptr) {
                       if (tiles.wide)
                         return launch(pass, ProjectExpertsWideArgs{product, *tiles.wide});
                       return launch(pass, ProjectExpertsNarrowArgs{product});
                     }
                     ExpertProduct of_codes = product;
                     of_codes.x = coded;
                     if (tiles.wide)
                       return launch(pass, ProjectExpertsCodesWideArgs{of_codes, section.kind});
                     launch(pass, ProjectExpertsCodesNarrowArgs{of_codes, section.kind});
                   });
}

template <class Args>
void FastExperts::launch(const DevicePass& pass, Args args) const {
  args.product.tiles_max = routing_.tiles_max(pass, args.tile_rows());
  pass.queue.launch(args);
}

}  // namespace forge::gpu
