// Inputs of the kernels of multi-head latent attention in fast numerics. Latents of f32 are bf16.
// With one row of each sequence that row decodes; more rows are in a tile. attend_latent_spans has
// spans by blocks of their own if there are several.
#include <algorithm>
#include <cmath>

#include "forge/numerics/span_attention.h"
#include "latent_cache.h"
#include "product_inputs.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;

constexpr numerics::HalfType kType = numerics::HalfType::bf16;

/// Sets number `index` of those that `words` have two each of.
void put_half(std::vector<std::uint32_t>& words, std::size_t index, std::uint32_t bits) {
  const auto shift = static_cast<std::uint32_t>(index % 2 * 16);
  std::uint32_t& word = words[index / 2];
  word = (word & ~(0xffffU << shift)) | bits << shift;
}

/// Rows that attend over their latents.
struct LatentSpans {
  explicit LatentSpans(KernelCaseBuilder& b)
      : cache(make_latents(b, b.half_kv_type(), b.size(&Sizes::rows))),
        scale(1 / std::sqrt(static_cast<float>(cache.row_size()))),
        spans((b.size(&Sizes::context) + numerics::kSpan - 1) / numerics::kSpan),
        queries(b.floats(cache.rows.size() * cache.heads * cache.row_size())) {}

  numerics::QueryGroup group(std::size_t row, std::size_t head, std::size_t count) const {
    return {.q = queries.data() + (row * cache.heads + head) * cache.row_size(),
            .heads = static_cast<int>(count),
            .scale = scale};
  }

  gpu::SpanInput input(KernelCaseBuilder& b) const {
    const gpu::LatentLayer latents = cache.layer();
    return {.rows = cache.rows.device,
            .q = b.upload("q", words_of_halves(queries, latents.type)).device,
            .out_type = numerics::half_type(latents.type),
            .latent_size = latents.latent_size,
            .kv = keys_of(latents, b.sizes().heads),
            .scale = scale};
  }

  /// Expects out [rows][H][C] of the launch.
  void* expect_out(KernelCaseBuilder& b) const {
    const std::size_t of_row = cache.heads * cache.latent_size;
    const auto out = b.output<std::uint32_t>("out", cache.rows.size() * of_row / 2);
    b.expect<std::uint32_t>(out, [of_row, c = *this](std::vector<std::uint32_t>& words) {
      std::vector<float> values(c.cache.rows.size() * of_row);
      for (std::size_t r = 0; r < c.cache.rows.size(); ++r) {
        numerics::span_attention_reference(numerics::kMmaSm90, c.group(r, 0, c.cache.heads),
                                           c.cache.view(c.cache.rows[r]), &values[r * of_row]);
      }
      words = words_of_halves(values, c.cache.latents->type());
    });
    return out.device;
  }

  /// Expects partial [rows][H][spans][C + 2] of it.
  float* expect_partial(KernelCaseBuilder& b) const {
    const std::size_t floats = cache.latent_size + 2;
    const auto partial =
        b.output<float>("partial", cache.rows.size() * cache.heads * spans * floats);
    b.expect<float>(partial, [floats, c = *this](std::vector<float>& values) {
      for (std::size_t i = 0; i < c.cache.rows.size() * c.cache.heads; ++i) {
        const auto latent = c.cache.view(c.cache.rows[i / c.cache.heads]);
        for (int span = 0; span * numerics::kSpan < latent.length; ++span) {
          const numerics::AttentionSpan found =
              numerics::span_reference(numerics::kMmaSm90, c.group(0, i, 1), latent, span);
          const std::size_t at = (i * c.spans + static_cast<std::size_t>(span)) * floats;
          const auto end = std::ranges::copy(found.a, &values[at]).out;
          end[0] = found.m;
          end[1] = found.l;
        }
      }
    });
    return partial.device;
  }

  LatentCache cache;
  float scale;
  std::size_t spans;
  std::vector<float> queries;
};

}  // namespace

gpu::KernelLaunch build_project_heads_wide(KernelCaseBuilder& b) {
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t heads = b.size(&Sizes::heads);
  const std::size_t K = b.size(&Sizes::head_size);
  const std::size_t N = b.size(&Sizes::latent_size);
  const std::size_t stride = N + b.size(&Sizes::rope_size);
  constexpr std::size_t kPanel = linear::kPanelOutputs;
  const std::size_t padded = (N + kPanel - 1) / kPanel * kPanel;
  const auto x = b.upload("x", packed_pairs(b.floats(rows * heads * K)));
  const auto weights = b.upload("weights", packed_pairs(b.floats(heads * padded * K)));
  const auto y = b.output<std::uint32_t>("y", (rows * heads * stride + 1) / 2);
  b.expect<std::uint32_t>(y, [=](std::vector<std::uint32_t>& words) {
    for (std::size_t i = 0; i < rows * heads; ++i) {
      const std::vector<numerics::BF16> a = row_of(x, i, K);
      for (std::size_t n = 0; n < N; ++n) {
        const std::vector<numerics::BF16> w = row_of(weights, i % heads * padded + n, K);
        const float v = numerics::tensor_product<numerics::BF16>(numerics::kMmaSm90, w, a);
        put_half(words, i * stride + n, half_bits(kType, v));
      }
    }
  });
  const gpu::ProjectHeadsWideArgs args{.row_count = &b.row_counts(rows)->rows,
                                       .rows_max = b.sizes().rows,
                                       .x = x.device,
                                       .weights = weights.device,
                                       .matrix_bytes = padded * K * 2,
                                       .heads = b.sizes().heads,
                                       .inputs = b.sizes().head_size,
                                       .outputs = b.sizes().latent_size,
                                       .type = kType,
                                       .y = y.device,
                                       .y_stride = static_cast<int>(stride),
                                       .y_type = kType};
  return gpu::launch_of(args, args.shape());
}

gpu::KernelLaunch build_prepare_latents(KernelCaseBuilder& b) {
  const LatentRows rows(b, b.half_kv_type());
  const LatentCache& cache = rows.cache;
  const std::size_t width = cache.row_size();
  const std::size_t N = rows.nope_size;
  const std::size_t heads = cache.rows.size() * cache.heads;
  const auto plain = b.output<std::uint32_t>("plain", (heads * N + 1) / 2);
  b.expect<std::uint32_t>(plain, [=](std::vector<std::uint32_t>& words) {
    for (std::size_t i = 0; i < heads * N; ++i) {
      const float x = rows.queries[i / N * (N + cache.rope_size) + i % N];
      put_half(words, i, half_bits(kType, x));
    }
  });
  const auto absorbed = b.output<std::uint32_t>("absorbed", (heads * width + 1) / 2);
  b.expect<std::uint32_t>(absorbed, [=](std::vector<std::uint32_t>& words) {
    const numerics::HalfType type = numerics::half_type(cache.latents->type());
    for (std::size_t i = 0; i < heads; ++i) {
      std::size_t at = i * width + cache.latent_size;
      for (const float q : rows.turned_query(i)) put_half(words, at++, half_bits(type, q));
    }
  });
  rows.expect_latents(b);
  const gpu::PrepareLatentsArgs args{.counts = b.row_counts(cache.rows.size()),
                                     .rows = cache.rows.device,
                                     .rotary = rows.rotary.device,
                                     .norm = rows.norm.device,
                                     .products = rows.products.device,
                                     .queries = rows.queries.device,
                                     .plain = plain.device,
                                     .plain_type = kType,
                                     .absorbed = absorbed.device,
                                     .latents = cache.layer(),
                                     .heads = b.sizes().heads,
                                     .nope_size = b.sizes().head_size,
                                     .eps = LatentRows::kEps,
                                     .adjacent = true};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

gpu::KernelLaunch build_attend_latent_spans(KernelCaseBuilder& b) {
  const LatentSpans c(b);
  gpu::AttendLatentSpansArgs args{.in = c.input(b), .spans_max = static_cast<int>(c.spans)};
  if (c.spans == 1) {
    args.in.out = c.expect_out(b);
  } else {
    args.partial = c.expect_partial(b);
  }
  const auto rows = static_cast<std::uint32_t>(c.cache.rows.size());
  const auto rows_each = static_cast<std::uint32_t>(b.sizes().rows);
  if (rows_each == 1) {
    args.in.counts = b.counts({.rows = rows, .decode_rows = rows});
    return gpu::launch_of(args, args.shape(b.sizes().seqs));
  }
  std::vector<gpu::PromptTile> tiles;
  for (std::uint32_t first = 0; first < rows; first += rows_each) {
    tiles.push_back({first, rows_each});
  }
  args.in.counts = b.counts({.rows = rows, .prompt_tiles = rows / rows_each});
  args.tiles = {b.upload("tiles", tiles).device, b.sizes().rows};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

}  // namespace forge::apps
