// Inputs of products of rows and their experts on tensor cores.
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

}  // namespace forge::apps
