// Inputs of products of rows and their experts on tensor cores.
#include "forge/linear/product.h"
#include "product_inputs.h"

namespace forge::apps {
namespace {

using numerics::BF16;
using Sizes = KernelSizes;

/// With tiles of so many pairs.
gpu::ExpertProduct build_product(KernelCaseBuilder& b, int tile_rows) {
  const std::size_t K = b.size(&Sizes::hidden);
  const std::size_t N = b.size(&Sizes::outputs);
  const std::size_t A = b.size(&Sizes::experts_per_token);
  const std::size_t E = b.size(&Sizes::experts);
  constexpr std::size_t kPadded = linear::kPanelOutputs;
  const std::size_t matrix_rows = (N + kPadded - 1) / kPadded * kPadded;
  const std::vector<gpu::ExpertChoice> choices = make_choices(b);
  const auto x = b.upload("x", packed_pairs(b.floats(b.size(&Sizes::rows) * K)));
  const auto weights = b.upload("weights", packed_pairs(b.floats(E * matrix_rows * K)));
  const auto bias = b.sizes().bias != 0 ? b.upload("bias", b.floats(E * N)) : Uploaded<float>();
  const auto y = b.output<float>("y", choices.size() * N);
  b.expect<float>(y, [=](std::vector<float>& out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t pair = i / N;
      const std::size_t expert = choices[pair].expert;
      const std::vector<BF16> w = row_of(weights, expert * matrix_rows + i % N, K);
      out[i] = numerics::tensor_product<BF16>(numerics::kMmaSm90, w, row_of(x, pair / A, K));
      if (bias.device != nullptr) out[i] = out[i] + bias[expert * N + i % N];
    }
  });
  const PlanOfChoices plan(choices, E, static_cast<std::uint32_t>(tile_rows));
  return {.plan = plan.upload(b),
          .rows_max = b.sizes().rows,
          .tiles_max = tiles_max(b, tile_rows),
          .x = x.device,
          .pairs_per_row = b.sizes().experts_per_token,
          .inputs = b.sizes().hidden,
          .outputs = b.sizes().outputs,
          .type = numerics::HalfType::bf16,
          .weights = weights.device,
          .matrix_bytes = matrix_rows * K * sizeof(BF16),
          .bias = bias.device,
          .y = y.device};
}

/// Of codes, with tiles of so many pairs.
template <class Args>
Args build_code_product(KernelCaseBuilder& b) {
  const std::size_t K = b.size(&Sizes::hidden);
  const std::size_t N = b.size(&Sizes::outputs);
  const std::size_t A = b.size(&Sizes::experts_per_token);
  const std::size_t E = b.size(&Sizes::experts);
  const std::vector<gpu::ExpertChoice> choices = make_choices(b);
  const std::vector<float> x = b.floats(b.size(&Sizes::rows) * K);
  std::vector<StoredMatrix> matrices;
  std::vector<std::uint32_t> panels;
  for (std::size_t expert = 0; expert < E; ++expert) {
    matrices.push_back(
        stored_matrix(b, b.sizes().outputs, b.sizes().hidden, code_type(b.sizes().weights)));
    const auto weights = packed(matrices.back());
    const std::span<const std::uint32_t> of_expert = panels_of(*weights);
    panels.insert(panels.end(), of_expert.begin(), of_expert.end());
  }
  const std::uint64_t matrix_bytes = panels.size() / E * sizeof(std::uint32_t);
  const auto bias = b.sizes().bias != 0 ? b.upload("bias", b.floats(E * N)) : Uploaded<float>();
  const auto y = b.output<float>("y", choices.size() * N);
  b.expect<float>(y, [=](std::vector<float>& out) {
    for (std::size_t pair = 0; pair < choices.size(); ++pair) {
      const std::size_t expert = choices[pair].expert;
      float* const of_pair = out.data() + pair * N;
      linear::multiply_reference(&x[pair / A * K], 1, std::span(&matrices[expert].stored, 1),
                                 of_pair);
      for (std::size_t n = 0; n < N && bias.device != nullptr; ++n) {
        of_pair[n] = of_pair[n] + bias[expert * N + n];
      }
    }
  });
  const PlanOfChoices plan(choices, E, static_cast<std::uint32_t>(Args::kTileRows));
  return {.product = {.plan = plan.upload(b),
                      .rows_max = b.sizes().rows,
                      .tiles_max = tiles_max(b, Args::kTileRows),
                      .x = b.upload("x", coded_rows(x, K), ElementKind::words).device,
                      .pairs_per_row = b.sizes().experts_per_token,
                      .inputs = b.sizes().hidden,
                      .outputs = b.sizes().outputs,
                      .type = numerics::HalfType::bf16,
                      .weights = b.upload("panels", std::move(panels), ElementKind::words).device,
                      .matrix_bytes = matrix_bytes,
                      .bias = bias.device,
                      .y = y.device},
          .kind = matrices.front().kind};
}

}  // namespace

gpu::KernelLaunch build_project_experts_narrow(KernelCaseBuilder& b) {
  using Args = gpu::ProjectExpertsNarrowArgs;
  const Args args{build_product(b, Args::kTileRows)};
  return gpu::launch_of(args, args.shape());
}

/// By the rows that an expert gets in the mean, as the executor does.
gpu::KernelLaunch build_project_experts_wide(KernelCaseBuilder& b) {
  const KernelSizes& sizes = b.sizes();
  const int mean = gpu::ceil_div(sizes.rows * sizes.experts_per_token, sizes.experts);
  const gpu::WideKind kind = gpu::wide_kind(mean);
  const gpu::ProjectExpertsWideArgs args{build_product(b, gpu::block_of(kind).rows), kind};
  return gpu::launch_of(args, args.shape());
}

gpu::KernelLaunch build_project_experts_codes_narrow(KernelCaseBuilder& b) {
  const auto args = build_code_product<gpu::ProjectExpertsCodesNarrowArgs>(b);
  return gpu::launch_of(args, args.shape());
}

gpu::KernelLaunch build_project_experts_codes_wide(KernelCaseBuilder& b) {
  const auto args = build_code_product<gpu::ProjectExpertsCodesWideArgs>(b);
  return gpu::launch_of(args, args.shape());
}

}  // namespace forge::apps
