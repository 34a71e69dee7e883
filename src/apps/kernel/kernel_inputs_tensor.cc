// Inputs of products on tensor cores.
#include <functional>

#include "forge/numerics/scaled_norm.h"
#include "forge/numerics/vector_ops.h"
#include "product_inputs.h"

namespace forge::apps {
namespace {

using numerics::BF16;
using Sizes = KernelSizes;

/// Of output i % N of row i / N.
using SumOf = std::function<float(std::size_t i)>;

/// Of the product with such sums. What becomes of them, its own sizes say.
void expect_product(KernelCaseBuilder& b, gpu::TensorProduct& product, const SumOf& sum_of) {
  const std::size_t N = b.size(&Sizes::outputs);
  const auto bias = b.sizes().bias != 0 ? b.upload("bias", b.floats(N)) : Uploaded<float>();
  product.bias = bias.device;
  product.cap = static_cast<float>(b.sizes().cap);
  product.accumulate = b.sizes().accumulate != 0;
  const auto result = [=, accumulates = product.accumulate, cap = product.cap](std::size_t i,
                                                                               float before) {
    float v = sum_of(i);
    if (bias.device != nullptr) v = v + bias[i % N];
    return accumulates ? before + v : cap > 0 ? numerics::soft_cap(v, cap) : v;
  };
  expect_results(b, product, [=](std::vector<float> y) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = result(i, y[i]);
    return y;
  });
}

gpu::TensorProduct build_product(KernelCaseBuilder& b) {
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t K = b.size(&Sizes::hidden);
  const std::size_t N = b.size(&Sizes::outputs);
  constexpr std::size_t kPadded = linear::kPanelOutputs;
  const auto x = b.upload("x", packed_pairs(b.floats(rows * K)));
  const auto weights =
      b.upload("weights", packed_pairs(b.floats((N + kPadded - 1) / kPadded * kPadded * K)));
  gpu::TensorProduct product{.row_count = &b.row_counts(rows)->rows,
                             .rows_max = b.sizes().rows,
                             .x = x.device,
                             .weights = weights.device,
                             .inputs = b.sizes().hidden,
                             .outputs = b.sizes().outputs,
                             .type = numerics::HalfType::bf16};
  expect_product(b, product, [=](std::size_t i) {
    const std::vector<BF16> w = row_of(weights, i % N, K);
    const std::vector<BF16> a = row_of(x, i / N, K);
    return numerics::tensor_product<BF16>(numerics::kMmaSm90, w, a);
  });
  return product;
}

}  // namespace

std::vector<std::uint32_t> packed_pairs(const std::vector<float>& numbers) {
  std::vector<std::uint32_t> words(numbers.size() / 2);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t low = numerics::half_of<BF16>(numbers[2 * i]).bits;
    const std::uint32_t high = numerics::half_of<BF16>(numbers[2 * i + 1]).bits;
    words[i] = low | high << 16;
  }
  return words;
}

std::vector<BF16> row_of(const Uploaded<std::uint32_t>& matrix, std::size_t row,
                         std::size_t inputs) {
  std::vector<BF16> numbers;
  for (std::size_t i = row * inputs; i < (row + 1) * inputs; ++i) {
    numbers.push_back({static_cast<std::uint16_t>(matrix[i / 2] >> (i % 2 * 16))});
  }
  return numbers;
}

void expect_results(KernelCaseBuilder& b, gpu::TensorProduct& product,
                    const ProductResults& results) {
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t N = b.size(&Sizes::outputs);
  if (b.sizes().candidates != 0) {
    const auto of_row = static_cast<std::size_t>(gpu::candidate_count(product.outputs));
    const auto candidates = b.output<sampling::BestToken>("candidates", rows * of_row);
    b.expect<sampling::BestToken>(candidates, [=](std::vector<sampling::BestToken>& out) {
      const std::vector<float> logits = results(std::vector<float>(rows * N));
      out.clear();
      for (std::size_t row = 0; row < rows; ++row) {
        std::ranges::copy(candidates_of(std::span(logits).subspan(row * N, N)),
                          std::back_inserter(out));
      }
    });
    product.candidates = candidates.device;
    return;
  }
  const auto y =
      product.accumulate ? b.upload("y", b.floats(rows * N)) : b.output<float>("y", rows * N);
  b.expect<float>(y, [=](std::vector<float>& out) { out = results(out); });
  product.y = y.device;
}

gpu::KernelLaunch build_project_narrow(KernelCaseBuilder& b) {
  const gpu::ProjectNarrowArgs args{build_product(b)};
  return gpu::launch_of(args, args.shape());
}

gpu::KernelLaunch build_project_wide(KernelCaseBuilder& b) {
  const gpu::ProjectWideArgs args{build_product(b)};
  return gpu::launch_of(args, args.shape());
}

gpu::KernelLaunch build_finish_product(KernelCaseBuilder& b) {
  const std::size_t rows = b.size(&Sizes::rows);
  const auto sums = b.upload("sums", b.floats(rows * b.size(&Sizes::outputs)));
  gpu::TensorProduct product{.row_count = &b.row_counts(rows)->rows,
                             .rows_max = b.sizes().rows,
                             .x = nullptr,
                             .weights = nullptr,
                             .inputs = b.sizes().hidden,
                             .outputs = b.sizes().outputs,
                             .type = numerics::HalfType::bf16};
  expect_product(b, product, [=](std::size_t i) { return sums[i]; });
  const gpu::FinishProductArgs args{product, sums.device};
  return gpu::launch_of(args, args.shape());
}

}  // namespace forge::apps
