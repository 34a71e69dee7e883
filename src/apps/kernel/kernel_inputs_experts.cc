// Inputs of the kernels of mixtures of experts, and of products with many matrices.
#include <algorithm>

#include "forge/linear/product.h"
#include "forge/model/experts.h"
#include "forge/numerics/reference.h"
#include "product_inputs.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;

/// Matrices [outputs][inputs], and the panels of all of them one after the other.
struct Matrices {
  std::shared_ptr<std::vector<linear::LinearWeights>> packed;
  Uploaded<float> panels;  // one after the other

  std::uint64_t bytes() const { return packed->front().bytes(); }

  /// y = x W^T, with one of them.
  void multiply(const float* x, std::size_t index, float* y) const {
    linear::ThreadPool one(1);
    linear::ProductScratch scratch;
    linear::multiply({x, 1}, (*packed)[index], y, scratch, one);
  }
};
Matrices make_matrices(KernelCaseBuilder& b, int count, int outputs, int inputs) {
  auto packed = std::make_shared<std::vector<linear::LinearWeights>>();
  std::vector<float> panels;
  linear::ThreadPool one(1);
  for (int i = 0; i < count; ++i) {
    const std::vector<float> weights =
        b.floats(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs));
    const auto* const rows = reinterpret_cast<const std::byte*>(weights.data());
    const linear::StoredLinear stored{outputs, inputs,
                                      linear::StoredRows{quant::WeightType::f32, rows}};
    const linear::LinearWeights& matrix = packed->emplace_back(std::span(&stored, 1), one);
    const auto* const first = reinterpret_cast<const float*>(matrix.sections().front().panels);
    panels.insert(panels.end(), first, first + matrix.bytes() / sizeof(float));
  }
  return {std::move(packed), b.upload("panels", std::move(panels))};
}

gpu::PassCounts counts_of(std::size_t rows) { return {.rows = static_cast<std::uint32_t>(rows)}; }

constexpr int kTileRows = gpu::ProjectExpertsArgs::kTileRows;

}  // namespace

std::vector<gpu::ExpertChoice> make_choices(KernelCaseBuilder& b) {
  std::vector<gpu::ExpertChoice> choices;
  for (std::size_t row = 0; row < b.size(&Sizes::rows); ++row) {
    std::vector<std::uint32_t> chosen = b.permutation(b.size(&Sizes::experts));
    chosen.resize(b.size(&Sizes::experts_per_token));
    std::ranges::sort(chosen);
    const std::vector<float> weights = b.floats(chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) choices.push_back({chosen[i], weights[i]});
  }
  return choices;
}

PlanOfChoices::PlanOfChoices(const std::vector<gpu::ExpertChoice>& choices, std::size_t experts,
                             std::uint32_t tile_rows) {
  for (std::uint32_t expert = 0; expert < experts; ++expert) {
    const auto first = static_cast<std::uint32_t>(pairs.size());
    for (std::uint32_t i = 0; i < choices.size(); ++i) {
      if (choices[i].expert == expert) pairs.push_back(i);
    }
    const auto end = static_cast<std::uint32_t>(pairs.size());
    for (std::uint32_t i = first; i < end; i += tile_rows) {
      tiles.push_back({expert, i, std::min(end - i, tile_rows)});
    }
  }
}

gpu::ExpertPlan PlanOfChoices::upload(KernelCaseBuilder& b) const {
  const auto count = static_cast<std::uint32_t>(tiles.size());
  return {.pairs = b.upload("pairs", pairs).device,
          .tiles = b.upload("tiles", tiles).device,
          .tiles_count = b.upload<std::uint32_t>("tiles_count", {count}).device,
          .counts = nullptr};
}

int tiles_max(const KernelCaseBuilder& b, int tile_rows) {
  return gpu::expert_tiles_max(b.sizes().rows, b.sizes().experts, b.sizes().experts_per_token,
                               tile_rows);
}

gpu::KernelLaunch build_choose_experts(KernelCaseBuilder& b) {
  const model::ExpertsConfig config{.experts = b.sizes().experts,
                                    .experts_per_token = b.sizes().experts_per_token,
                                    .correction_bias = true,
                                    .normalized = true};
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t E = b.size(&Sizes::experts);
  const std::size_t A = b.size(&Sizes::experts_per_token);
  const auto products = b.upload("products", b.floats(rows * E));
  const auto bias = b.upload("bias", b.floats(E));
  const auto choices = b.output<gpu::ExpertChoice>("choices", rows * A);
  b.expect<gpu::ExpertChoice>(choices, [=](std::vector<gpu::ExpertChoice>& values) {
    std::vector<float> scratch(static_cast<std::size_t>(model::router_scratch_size(config)));
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<float> z(products.data() + row * E, products.data() + (row + 1) * E);
      std::vector<model::ExpertChoice> chosen(A);
      model::choose_experts(config, z, *bias.host, scratch, chosen);
      for (std::size_t i = 0; i < A; ++i) {
        values[row * A + i] = {static_cast<std::uint32_t>(chosen[i].expert), chosen[i].weight};
      }
    }
  });
  const gpu::ChooseExpertsArgs args{.counts = b.row_counts(rows),
                                    .products = products.device,
                                    .bias = bias.device,
                                    .choices = choices.device,
                                    .experts = config.experts,
                                    .experts_per_token = config.experts_per_token,
                                    .groups = 1,
                                    .groups_per_token = 1,
                                    .group_best = 1,
                                    .sigmoid = false,
                                    .normalized = true,
                                    .routed_scale = 1};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

gpu::KernelLaunch build_plan_experts(KernelCaseBuilder& b) {
  const auto choices = b.upload("choices", make_choices(b));
  const PlanOfChoices plan(*choices.host, b.size(&Sizes::experts), kTileRows);
  const std::size_t pairs = choices.size();
  const auto sorted = b.output<std::uint32_t>("pairs", pairs);
  const auto tiles =
      b.output<gpu::ExpertTile>("tiles", static_cast<std::size_t>(tiles_max(b, kTileRows)));
  const auto tiles_count = b.output<std::uint32_t>("tiles_count", 1);
  const auto pair_counts = b.output<gpu::PassCounts>("pair_counts", 1);
  b.expect<std::uint32_t>(sorted, [=](std::vector<std::uint32_t>& all) { all = plan.pairs; });
  b.expect<gpu::ExpertTile>(tiles, [=](std::vector<gpu::ExpertTile>& all) {
    std::ranges::copy(plan.tiles, all.begin());
  });
  b.expect<std::uint32_t>(tiles_count, [=](std::vector<std::uint32_t>& count) {
    count[0] = static_cast<std::uint32_t>(plan.tiles.size());
  });
  b.expect<gpu::PassCounts>(
      pair_counts, [=](std::vector<gpu::PassCounts>& counts) { counts[0] = counts_of(pairs); });
  const gpu::PlanExpertsArgs args{.counts = b.row_counts(b.size(&Sizes::rows)),
                                  .choices = choices.device,
                                  .plan = {.pairs = sorted.device,
                                           .tiles = tiles.device,
                                           .tiles_count = tiles_count.device,
                                           .counts = pair_counts.device},
                                  .experts = b.sizes().experts,
                                  .experts_per_token = b.sizes().experts_per_token,
                                  .tile_rows = kTileRows};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

gpu::KernelLaunch build_project_experts(KernelCaseBuilder& b) {
  const int inputs = b.sizes().hidden;
  const int outputs = b.sizes().outputs;
  const std::size_t K = b.size(&Sizes::hidden);
  const std::size_t N = b.size(&Sizes::outputs);
  const std::size_t A = b.size(&Sizes::experts_per_token);
  const std::vector<gpu::ExpertChoice> choices = make_choices(b);
  const PlanOfChoices plan(choices, b.size(&Sizes::experts), kTileRows);
  const Matrices matrices = make_matrices(b, b.sizes().experts, outputs, inputs);
  const auto x = b.upload("x", b.floats(b.size(&Sizes::rows) * K));
  const auto bias = b.sizes().bias != 0 ? b.upload("bias", b.floats(b.size(&Sizes::experts) * N))
                                        : Uploaded<float>{};
  const auto y = b.output<float>("y", choices.size() * N);
  b.expect<float>(y, [=](std::vector<float>& values) {
    for (std::size_t pair = 0; pair < choices.size(); ++pair) {
      const std::size_t expert = choices[pair].expert;
      float* const out = values.data() + pair * N;
      matrices.multiply(x.data() + pair / A * K, expert, out);
      if (bias.host != nullptr) numerics::add_reference(out, bias.data() + expert * N, outputs);
    }
  });
  const gpu::ProjectExpertsArgs args{.plan = plan.upload(b),
                                     .x = x.device,
                                     .panels = matrices.panels.device,
                                     .matrix_bytes = matrices.bytes(),
                                     .y = y.device,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .pairs_per_row = b.sizes().experts_per_token,
                                     .bias = bias.device};
  return gpu::launch_of(args, args.shape(tiles_max(b, kTileRows)));
}

gpu::KernelLaunch build_add_experts(KernelCaseBuilder& b) {
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t d = b.size(&Sizes::hidden);
  const std::size_t A = b.size(&Sizes::experts_per_token);
  const auto choices = b.upload("choices", make_choices(b));
  const auto produced = b.upload("produced", b.floats(rows * A * d));
  const auto shared = b.upload("shared", b.floats(rows * d));
  const auto gates =
      b.sizes().shared_gate != 0 ? b.upload("shared_gates", b.floats(rows)) : Uploaded<float>{};
  const bool accumulate = b.sizes().accumulate != 0;
  const auto y = accumulate ? b.upload("y", b.floats(rows * d)) : b.output<float>("y", rows * d);
  b.expect<float>(y, [=](std::vector<float>& values) {
    const auto size = static_cast<int>(d);
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<float> sum(d);
      for (std::size_t pair = row * A; pair < (row + 1) * A; ++pair) {
        numerics::add_scaled_reference(sum.data(), produced.data() + pair * d, choices[pair].weight,
                                       size);
      }
      const float gate =
          gates.host != nullptr ? numerics::divide(1.0F, 1.0F + numerics::exp(-gates[row])) : 1.0F;
      numerics::add_scaled_reference(sum.data(), shared.data() + row * d, gate, size);
      float* const out = values.data() + row * d;
      if (accumulate) {
        numerics::add_reference(out, sum.data(), size);
      } else {
        std::ranges::copy(sum, out);
      }
    }
  });
  const gpu::AddExpertsArgs args{.counts = b.row_counts(rows),
                                 .choices = choices.device,
                                 .produced = produced.device,
                                 .shared = shared.device,
                                 .y = y.device,
                                 .size = b.sizes().hidden,
                                 .experts_per_token = b.sizes().experts_per_token,
                                 .accumulate = accumulate,
                                 .multiplier = 1,
                                 .shared_gates = gates.device};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

gpu::KernelLaunch build_project_heads(KernelCaseBuilder& b) {
  const int inputs = b.sizes().head_size;
  const int outputs = b.sizes().latent_size;
  const int gap = b.sizes().rope_size;  // of a row of x, and of y, after each head
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t heads = b.size(&Sizes::heads);
  const std::size_t x_stride = b.size(&Sizes::head_size) + b.size(&Sizes::rope_size);
  const std::size_t y_stride = b.size(&Sizes::latent_size) + b.size(&Sizes::rope_size);
  const Matrices matrices = make_matrices(b, b.sizes().heads, outputs, inputs);
  const auto x = b.upload("x", b.floats(rows * heads * x_stride));
  const auto y = b.output<float>("y", rows * heads * y_stride);
  b.expect<float>(y, [=](std::vector<float>& values) {
    for (std::size_t i = 0; i < rows * heads; ++i) {
      matrices.multiply(x.data() + i * x_stride, i % heads, values.data() + i * y_stride);
    }
  });
  const std::uint32_t row_count = static_cast<std::uint32_t>(rows);
  const gpu::ProjectHeadsArgs args{
      .row_count = b.upload<std::uint32_t>("row_count", {row_count}).device,
      .x = x.device,
      .panels = matrices.panels.device,
      .matrix_bytes = matrices.bytes(),
      .y = y.device,
      .heads = b.sizes().heads,
      .inputs = inputs,
      .outputs = outputs,
      .x_stride = inputs + gap,
      .y_stride = outputs + gap};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

}  // namespace forge::apps
