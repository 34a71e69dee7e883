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
  Uploaded<float> pool;
  Uploaded<gpu::RowInput> rows;

  std::size_t row_size() const { return latent_size + rope_size; }
  std::size_t block_floats() const { return row_size() * block_size; }
  std::size_t row_at(const gpu::RowInput& row, std::size_t position) const {
    return tables[row.table * blocks_each + position / block_size] * block_floats() +
           position % block_size * row_size();
  }
  /// What a row sees.
  numerics::PagedLatent view(const gpu::RowInput& row) const {
    return {.rows = pool.data(),
            .block_stride = static_cast<std::ptrdiff_t>(block_floats()),
            .block_size = static_cast<int>(block_size),
            .key_size = static_cast<int>(row_size()),
            .value_size = static_cast<int>(latent_size),
            .blocks = {tables.data() + row.table * blocks_each, blocks_each},
            .length = static_cast<int>(row.position) + 1};
  }
  gpu::LatentLayer layer() const {
    return {.pool = pool.device,
            .block_stride = block_floats(),
            .tables = tables.device,
            .table_stride = static_cast<std::uint32_t>(blocks_each),
            .block_size = static_cast<int>(block_size),
            .latent_size = static_cast<int>(latent_size),
            .rope_size = static_cast<int>(rope_size)};
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
  std::vector<float> pool(seqs * cache.blocks_each * cache.block_floats(), std::nanf(""));
  const std::vector<float> latents = b.floats(seqs * context * cache.row_size());
  auto next = latents.begin();
  for (std::size_t seq = 0; seq < seqs; ++seq) {
    rows[seq] = {.position = static_cast<std::uint32_t>(context - 1),
                 .table = static_cast<std::uint32_t>(seq)};
    for (std::size_t j = 0; j < context; ++j) {
      std::copy_n(next, cache.row_size(),
                  pool.begin() + static_cast<std::ptrdiff_t>(cache.row_at(rows[seq], j)));
      next += static_cast<std::ptrdiff_t>(cache.row_size());
    }
  }
  cache.pool = b.upload("kv_pool", std::move(pool));
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
  b.expect<float>(cache.pool, [=](std::vector<float>& pool) {
    for (std::size_t r = 0; r < rows; ++r) {
      float* const to = pool.data() + cache.row_at(cache.rows[r], cache.rows[r].position);
      std::copy_n(products.data() + r * width, width, to);
      numerics::rms_norm_reference(to, norm.data(), static_cast<int>(C), kEps, to);
      turn(to + C, cache.rows[r]);
    }
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
