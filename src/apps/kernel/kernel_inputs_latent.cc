// Inputs of the kernels of multi-head latent attention: sequences whose latents lie in a pool of
// blocks.
#include <algorithm>
#include <cmath>

#include "forge/numerics/canonical.h"
#include "forge/numerics/latent_attention.h"
#include "forge/numerics/reference.h"
#include "kernel_case_builder.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;

/// The latents of all sequences, and a row of the pass for the last position of each.
struct LatentCache {
  std::size_t latent_size;
  std::size_t rope_size;
  std::size_t block_size;
  std::size_t heads;
  std::size_t blocks_each;  ///< blocks of a sequence, and entries of its table
  Uploaded<std::uint32_t> tables;
  std::shared_ptr<const model::KvPool> latents;
  Uploaded<std::uint32_t> pool;  ///< the words of that
  Uploaded<gpu::RowInput> rows;

  std::size_t row_size() const { return latent_size + rope_size; }
  std::span<const std::uint32_t> table(const gpu::RowInput& row) const {
    return {tables.data() + row.table * blocks_each, blocks_each};
  }
  /// What a row sees.
  numerics::PagedLatent view(const gpu::RowInput& row) const {
    return latents->latent_view(0, table(row), row.position + 1, static_cast<int>(latent_size));
  }
  gpu::LatentLayer layer() const {
    return {.pool = pool.device,
            .block_stride = row_size() * block_size,
            .tables = tables.device,
            .table_stride = static_cast<std::uint32_t>(blocks_each),
            .block_size = static_cast<int>(block_size),
            .latent_size = static_cast<int>(latent_size),
            .rope_size = static_cast<int>(rope_size),
            .type = latents->type()};
  }
};

LatentCache make_latents(KernelCaseBuilder& b) {
  LatentCache cache{.latent_size = b.size(&Sizes::latent_size),
                    .rope_size = b.size(&Sizes::rope_size),
                    .block_size = b.size(&Sizes::block_size),
                    .heads = b.size(&Sizes::heads)};
  const std::size_t context = b.size(&Sizes::context);
  const std::size_t seqs = b.size(&Sizes::seqs);
  cache.blocks_each = (context + cache.block_size - 1) / cache.block_size;
  cache.tables = b.upload("tables", b.permutation(seqs * cache.blocks_each));
  std::vector<gpu::RowInput> rows(seqs);
  auto pool = std::make_shared<model::KvPool>(
      model::KvShape{.head_size = static_cast<int>(cache.row_size()),
                     .layout = model::KvLayout::latent},
      static_cast<std::uint32_t>(seqs * cache.blocks_each),
      static_cast<std::uint32_t>(cache.block_size), b.kv_type());
  const std::vector<float> latents = b.floats(seqs * context * cache.row_size());
  const float* next = latents.data();
  for (std::size_t seq = 0; seq < seqs; ++seq) {
    rows[seq] = {.position = static_cast<std::uint32_t>(context - 1),
                 .table = static_cast<std::uint32_t>(seq)};
    for (std::uint32_t j = 0; j < context; ++j, next += cache.row_size()) {
      pool->store_latent(0, cache.table(rows[seq]), j, next);
    }
  }
  cache.pool = b.upload_kv("kv_pool", *pool);
  cache.latents = std::move(pool);
  cache.rows = b.upload("rows", std::move(rows));
  return cache;
}

/// Attention of all rows over their latents.
struct LatentAttention {
  explicit LatentAttention(KernelCaseBuilder& b)
      : cache(make_latents(b)),
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
  constexpr float kEps = 1e-6F;
  const LatentCache cache = make_latents(b);
  const std::size_t C = cache.latent_size;
  const std::size_t R = cache.rope_size;
  const std::size_t width = cache.row_size();
  const std::size_t nope_size = b.size(&Sizes::head_size);
  const std::size_t rows = cache.rows.size();
  // Any numbers turn as well as cosines and sines.
  const auto rotary = b.upload("rotary", b.floats(b.size(&Sizes::context) * R));
  const auto norm = b.upload("norm", b.floats(C));
  const auto products = b.upload("products", b.floats(rows * width));
  const auto queries = b.upload("queries", b.floats(rows * cache.heads * (nope_size + R)));
  const auto absorbed = b.upload("absorbed", b.floats(rows * cache.heads * width));
  const auto turn = [=](float* head, const gpu::RowInput& row) {
    const float* const cos = rotary.data() + row.position * R;
    numerics::rotate_adjacent_pairs_reference(head, cos, cos + R / 2, static_cast<int>(R / 2));
  };
  b.expect<float>(absorbed, [=](std::vector<float>& values) {
    for (std::size_t i = 0; i < rows * cache.heads; ++i) {
      float* const to = values.data() + i * width + C;
      std::copy_n(queries.data() + i * (nope_size + R) + nope_size, R, to);
      turn(to, cache.rows[i / cache.heads]);
    }
  });
  b.expect<std::uint32_t>(cache.pool, [=](std::vector<std::uint32_t>& words) {
    model::KvPool pool = *cache.latents;
    for (std::size_t r = 0; r < rows; ++r) {
      const gpu::RowInput& row = cache.rows[r];
      const float* const x = products.data() + r * width;
      std::vector<float> latent(x, x + width);
      numerics::rms_norm_reference(x, norm.data(), static_cast<int>(C), kEps, latent.data());
      turn(latent.data() + C, row);
      pool.store_latent(0, cache.table(row), row.position, latent.data());
    }
    words = words_of(pool);
  });
  const gpu::StoreLatentArgs args{.counts = b.row_counts(rows),
                                  .rows = cache.rows.device,
                                  .rotary = rotary.device,
                                  .norm = norm.device,
                                  .products = products.device,
                                  .queries = queries.device,
                                  .absorbed = absorbed.device,
                                  .latents = cache.layer(),
                                  .heads = b.sizes().heads,
                                  .nope_size = static_cast<int>(nope_size),
                                  .eps = kEps,
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
