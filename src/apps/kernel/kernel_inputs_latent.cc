// Inputs of the kernels of multi-head latent attention.
#include <algorithm>
#include <cmath>

#include "forge/numerics/latent_attention.h"
#include "latent_cache.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;

/// Attention of all rows over their latents.
struct LatentAttention {
  explicit LatentAttention(KernelCaseBuilder& b)
      : cache(make_latents(b, b.kv_type())),
        scale(1 / std::sqrt(static_cast<float>(cache.row_size()))),
        segments((b.size(&Sizes::context) + numerics::kKeySegment - 1) / numerics::kKeySegment),
        queries(b.upload("queries", b.floats(cache.rows.size() * cache.heads * cache.row_size()))) {
  }

  std::size_t out_floats() const { return cache.rows.size() * cache.heads * cache.latent_size; }
  std::size_t partial_floats() const {
    return cache.rows.size() * cache.heads * segments * (cache.latent_size + 2);
  }

  gpu::LatentAttentionInput input(KernelCaseBuilder& b, float* out) const {
    return {.counts = b.row_counts(cache.rows.size()),
            .rows = cache.rows.device,
            .queries = queries.device,
            .out = out,
            .latents = cache.layer(),
            .heads = static_cast<int>(cache.heads),
            .scale = scale};
  }

  const float* query(std::size_t row, std::size_t head) const {
    return queries.data() + (row * cache.heads + head) * cache.row_size();
  }

  /// out [rows][H][C], as the CPU computes it.
  void attend_on_cpu(std::vector<float>& out) const {
    for (std::size_t r = 0; r < cache.rows.size(); ++r) {
      numerics::attend_latent({query(r, 0), static_cast<int>(cache.heads), scale},
                              cache.view(cache.rows[r]),
                              out.data() + r * cache.heads * cache.latent_size);
    }
  }

  /// partial [rows][H][segments][C + 2]: a, m and l of each segment.
  void attend_segments_on_cpu(std::vector<float>& partial) const {
    auto next = partial.begin();
    for (std::size_t r = 0; r < cache.rows.size(); ++r) {
      const numerics::PagedLatent latent = cache.view(cache.rows[r]);
      for (std::size_t head = 0; head < cache.heads; ++head) {
        for (std::size_t c = 0; c < segments; ++c) {
          next = put_segment(
              attend_segment_reference(query(r, head), scale, latent, static_cast<int>(c)), next);
        }
      }
    }
  }

  LatentCache cache;
  float scale;
  std::size_t segments;
  Uploaded<float> queries;
};

}  // namespace

gpu::KernelLaunch build_store_latent(KernelCaseBuilder& b) {
  const LatentRows rows(b, b.kv_type());
  const LatentCache& cache = rows.cache;
  const std::size_t width = cache.row_size();
  const std::size_t heads = cache.rows.size() * cache.heads;
  const auto absorbed = b.upload("absorbed", b.floats(heads * width));
  b.expect<float>(absorbed, [=](std::vector<float>& values) {
    for (std::size_t i = 0; i < heads; ++i) {
      std::ranges::copy(rows.turned_query(i), values.data() + i * width + cache.latent_size);
    }
  });
  rows.expect_latents(b);
  const gpu::StoreLatentArgs args{.counts = b.row_counts(cache.rows.size()),
                                  .rows = cache.rows.device,
                                  .rotary = rows.rotary.device,
                                  .norm = rows.norm.device,
                                  .products = rows.products.device,
                                  .queries = rows.queries.device,
                                  .absorbed = absorbed.device,
                                  .latents = cache.layer(),
                                  .heads = b.sizes().heads,
                                  .nope_size = b.sizes().head_size,
                                  .eps = LatentRows::kEps,
                                  .adjacent = true};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

gpu::KernelLaunch build_attend_latent(KernelCaseBuilder& b) {
  const LatentAttention attention(b);
  const auto out = b.output<float>("out", attention.out_floats());
  b.expect<float>(out, [=](std::vector<float>& values) { attention.attend_on_cpu(values); });
  const gpu::AttendLatentArgs args{attention.input(b, out.device)};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

gpu::KernelLaunch build_attend_latent_split(KernelCaseBuilder& b) {
  const LatentAttention attention(b);
  const auto partial = b.output<float>("partial", attention.partial_floats());
  b.expect<float>(partial,
                  [=](std::vector<float>& values) { attention.attend_segments_on_cpu(values); });
  const gpu::AttendLatentSplitArgs args{attention.input(b, nullptr), partial.device,
                                        static_cast<int>(attention.segments)};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

gpu::KernelLaunch build_attend_latent_merge(KernelCaseBuilder& b) {
  const LatentAttention attention(b);
  std::vector<float> values(attention.partial_floats());
  attention.attend_segments_on_cpu(values);
  const auto partial = b.upload("partial", std::move(values));
  const auto out = b.output<float>("out", attention.out_floats());
  b.expect<float>(out, [=](std::vector<float>& merged) { attention.attend_on_cpu(merged); });
  const gpu::AttendLatentMergeArgs args{attention.input(b, out.device), partial.device,
                                        static_cast<int>(attention.segments)};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

}  // namespace forge::apps
