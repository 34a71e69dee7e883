// Inputs of the kernels that read weights: embeddings, products and their rows in 8 bits.
#include <algorithm>
#include <array>
#include <bit>

#include "forge/linear/linear_weights.h"
#include "forge/linear/product.h"
#include "forge/numerics/vector_ops.h"
#include "forge/quant/quantize.h"
#include "product_inputs.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;
using gpu::RowInput;

/// Every fourth token is a draft.
constexpr std::size_t kDraftStep = 4;

/// Rows whose tokens are all different, as far as there are that many.
std::vector<RowInput> rows_of_tokens(KernelCaseBuilder& b, std::vector<std::uint32_t>& drafts) {
  const std::vector<std::uint32_t> tokens = b.permutation(b.size(&Sizes::vocabulary));
  std::vector<RowInput> rows(b.size(&Sizes::rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].token = tokens[i % tokens.size()];
    if (i % kDraftStep == kDraftStep - 1) {
      rows[i].draft = static_cast<std::int32_t>(drafts.size());
      drafts.push_back(rows[i].token);
      rows[i].token = 0;
    }
  }
  if (drafts.empty()) drafts.push_back(0);
  return rows;
}

quant::WeightType weight_type(const KernelCaseBuilder& b) {
  return static_cast<quant::WeightType>(b.sizes().weights);
}

Uploaded<std::uint32_t> upload(KernelCaseBuilder& b, const char* name,
                               const linear::LinearWeights& weights) {
  const std::span<const std::uint32_t> panels = panels_of(weights);
  const bool is_f32 = weights.sections().front().kind == linear::PanelKind::f32;
  return b.upload(name, std::vector(panels.begin(), panels.end()),
                  is_f32 ? ElementKind::f32 : ElementKind::words);
}

}  // namespace

StoredMatrix stored_matrix(KernelCaseBuilder& b, int outputs, int inputs, quant::WeightType type) {
  const std::vector<float> numbers =
      b.floats(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs));
  const std::size_t bytes = *quant::bytes_of(type, numbers.size());
  std::vector<std::uint32_t> words((bytes + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t));
  quant::quantize(type, numbers, reinterpret_cast<std::byte*>(words.data()));
  auto kept = std::make_shared<const std::vector<std::uint32_t>>(std::move(words));
  const auto* rows = reinterpret_cast<const std::byte*>(kept->data());
  const linear::StoredLinear stored{outputs, inputs, linear::StoredRows{type, rows}};
  return {panel_kind(stored), stored, std::move(kept)};
}

std::shared_ptr<const linear::LinearWeights> packed(const StoredMatrix& matrix) {
  linear::ThreadPool pool(1);
  return std::make_shared<const linear::LinearWeights>(std::span(&matrix.stored, 1), pool,
                                                       linear::Numerics::canonical);
}

std::span<const std::uint32_t> panels_of(const linear::LinearWeights& weights) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(weights.sections().front().panels);
  return {words, weights.bytes() / sizeof(std::uint32_t)};
}

std::vector<std::uint32_t> coded_rows(std::span<const float> x, std::size_t inputs) {
  std::vector<std::uint32_t> words;
  for (std::size_t row = 0; row < x.size(); row += inputs) {
    for (std::size_t first = 0; first < inputs; first += linear::codes::kGroup) {
      std::array<float, linear::codes::kGroup> numbers{};
      std::copy_n(&x[row + first], std::min(numbers.size(), inputs - first), numbers.begin());
      const linear::CodedGroup coded = linear::code_group(numbers);
      gpu::RowGroup group{.sums = {coded.biases[0] / -128, coded.biases[1] / -128},
                          .scale = coded.scale,
                          .scaled_sum = coded.scaled_sum};
      std::memcpy(group.quads, coded.codes, sizeof coded.codes);
      const auto bits = std::bit_cast<std::array<std::uint32_t, sizeof group / 4>>(group);
      words.insert(words.end(), bits.begin(), bits.end());
    }
  }
  return words;
}

gpu::KernelLaunch build_embed(KernelCaseBuilder& b) {
  const std::size_t d = b.size(&Sizes::hidden);
  std::vector<std::uint32_t> draft_tokens;
  const auto rows = b.upload("rows", rows_of_tokens(b, draft_tokens));
  const auto drafts = b.upload("drafts", std::move(draft_tokens));
  const StoredMatrix matrix =
      stored_matrix(b, b.sizes().vocabulary, b.sizes().hidden, weight_type(b));
  const bool is_codes = linear::has_codes(matrix.kind);
  const auto embedding =
      is_codes
          ? upload(b, "embedding", *packed(matrix))
          : b.upload("embedding", *matrix.words,
                     matrix.kind == linear::PanelKind::f32 ? ElementKind::f32 : ElementKind::words);
  const auto hidden = b.output<float>("hidden", rows.size() * d);
  b.expect<float>(hidden, [=](std::vector<float>& out) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto draft = static_cast<std::size_t>(rows[i].draft);
      const std::uint32_t token =
          rows[i].draft == RowInput::kNoDraft ? rows[i].token : drafts[draft];
      linear::stored_row(matrix.stored, static_cast<int>(token), out.data() + i * d);
    }
  });
  const gpu::EmbedArgs args{.counts = b.row_counts(rows.size()),
                            .rows = rows.device,
                            .drafts = drafts.device,
                            .embedding = embedding.device,
                            .hidden = hidden.device,
                            .hidden_size = b.sizes().hidden,
                            .kind = matrix.kind};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

gpu::KernelLaunch build_code_rows(KernelCaseBuilder& b) {
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t K = b.size(&Sizes::hidden);
  const auto x = b.upload("x", b.floats(rows * K));
  const std::size_t groups =
      rows * static_cast<std::size_t>(linear::codes::group_count(b.sizes().hidden));
  const auto coded = b.output<std::uint32_t>("coded", groups * sizeof(gpu::RowGroup) / 4);
  b.expect<std::uint32_t>(coded,
                          [=](std::vector<std::uint32_t>& out) { out = coded_rows(*x.host, K); });
  const gpu::CodeRowsArgs args{
      .row_count = b.upload<std::uint32_t>("row_count", {static_cast<std::uint32_t>(rows)}).device,
      .x = x.device,
      .coded = reinterpret_cast<gpu::RowGroup*>(coded.device),
      .inputs = b.sizes().hidden};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

gpu::KernelLaunch build_project(KernelCaseBuilder& b) {
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t K = b.size(&Sizes::hidden);
  const std::size_t N = b.size(&Sizes::outputs);
  const bool accumulate = b.sizes().accumulate != 0;
  const auto cap = static_cast<float>(b.sizes().cap);
  const StoredMatrix matrix = stored_matrix(b, b.sizes().outputs, b.sizes().hidden, weight_type(b));
  const auto weights = packed(matrix);
  const auto panels = upload(b, "panels", *weights);
  const auto x = b.upload("x", b.floats(rows * K));
  const bool is_codes = linear::has_codes(matrix.kind);
  const auto coded = is_codes ? b.upload("coded", coded_rows(*x.host, K), ElementKind::words)
                              : Uploaded<std::uint32_t>{};
  const auto bias = b.sizes().bias != 0 ? b.upload("bias", b.floats(N)) : Uploaded<float>{};
  const auto y = accumulate ? b.upload("y", b.floats(rows * N)) : b.output<float>("y", rows * N);
  b.expect<float>(y, [=](std::vector<float>& out) {
    std::vector<float> product(rows * N);
    linear::ThreadPool threads(1);
    linear::ProductScratch scratch;
    linear::multiply({x.data(), static_cast<int>(rows)}, *weights, product.data(), scratch,
                     threads);
    for (std::size_t row = 0; row < rows && bias.host != nullptr; ++row) {
      numerics::add(product.data() + row * N, bias.data(), static_cast<int>(N));
    }
    if (cap > 0) numerics::soft_cap(product.data(), cap, static_cast<int>(product.size()));
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = accumulate ? out[i] + product[i] : product[i];
    }
  });
  const gpu::ProjectArgs args{
      .row_count = b.upload<std::uint32_t>("row_count", {static_cast<std::uint32_t>(rows)}).device,
      .x = x.device,
      .panels = panels.device,
      .y = y.device,
      .inputs = b.sizes().hidden,
      .outputs = b.sizes().outputs,
      .accumulate = accumulate,
      .bias = bias.device,
      .kind = matrix.kind,
      .coded = reinterpret_cast<const gpu::RowGroup*>(coded.device),
      .cap = cap};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

namespace {

gpu::CodeProduct build_code_product(KernelCaseBuilder& b) {
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t K = b.size(&Sizes::hidden);
  const int outputs = b.sizes().outputs;
  const StoredMatrix matrix =
      stored_matrix(b, outputs, b.sizes().hidden, code_type(b.sizes().weights));
  const std::vector<float> x = b.floats(rows * K);
  const auto bias =
      b.sizes().bias != 0 ? b.upload("bias", b.floats(b.size(&Sizes::outputs))) : Uploaded<float>{};
  gpu::CodeProduct codes{
      .product =
          {.row_count =
               b.upload<std::uint32_t>("row_count", {static_cast<std::uint32_t>(rows)}).device,
           .rows_max = b.sizes().rows,
           .x = b.upload("x", coded_rows(x, K), ElementKind::words).device,
           .weights = upload(b, "panels", *packed(matrix)).device,
           .inputs = b.sizes().hidden,
           .outputs = outputs,
           .type = numerics::HalfType::bf16,
           .bias = bias.device,
           .cap = static_cast<float>(b.sizes().cap),
           .accumulate = b.sizes().accumulate != 0},
      .kind = matrix.kind};
  expect_results(b, codes.product,
                 [=, cap = codes.product.cap,
                  accumulate = codes.product.accumulate](const std::vector<float>& before) {
                   std::vector<float> v(before.size());
                   linear::multiply_reference(x.data(), static_cast<int>(rows),
                                              std::span(&matrix.stored, 1), v.data());
                   for (std::size_t row = 0; row < rows && bias.host != nullptr; ++row) {
                     numerics::add(&v[row * bias.size()], bias.data(), outputs);
                   }
                   if (cap > 0) numerics::soft_cap(v.data(), cap, static_cast<int>(v.size()));
                   if (accumulate) {
                     numerics::add(v.data(), before.data(), static_cast<int>(v.size()));
                   }
                   return v;
                 });
  return codes;
}

}  // namespace

gpu::KernelLaunch build_project_codes_few(KernelCaseBuilder& b) {
  const gpu::ProjectCodesFewArgs args{build_code_product(b)};
  return gpu::launch_of(args, args.shape());
}

gpu::KernelLaunch build_project_codes_narrow(KernelCaseBuilder& b) {
  const gpu::ProjectCodesNarrowArgs args{build_code_product(b)};
  return gpu::launch_of(args, args.shape());
}

gpu::KernelLaunch build_project_codes_wide(KernelCaseBuilder& b) {
  const gpu::ProjectCodesWideArgs args{build_code_product(b)};
  return gpu::launch_of(args, args.shape());
}

}  // namespace forge::apps
