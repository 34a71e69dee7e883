// Inputs of the kernels of attention: sequences whose KV lies in a pool of blocks.
#include <algorithm>
#include <cmath>

#include "forge/numerics/attention.h"
#include "forge/numerics/canonical.h"
#include "forge/numerics/reference.h"
#include "forge/numerics/rotary.h"
#include "kernel_case_builder.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;

/// The KV of all sequences, and the rows of a pass.
struct Cache {
  std::size_t head_size;
  std::size_t block_size;
  std::size_t kv_heads;
  std::size_t heads;
  std::size_t blocks_each;  ///< blocks of a sequence, and entries of its table
  float scale;
  int window;  ///< positions that a row sees; 0: all
  float score_cap;
  Uploaded<float> sinks;  ///< of each query head; none where it is empty
  Uploaded<std::uint32_t> tables;
  std::shared_ptr<const model::KvPool> kv;
  Uploaded<std::uint32_t> pool;  ///< the words of that
  Uploaded<gpu::RowInput> rows;
  Uploaded<float> qkv;

  /// First position that a row sees.
  std::size_t first_seen(const gpu::RowInput& row) const {
    const auto reach = static_cast<std::uint32_t>(window);
    return window > 0 && row.position >= reach ? row.position + 1 - reach : 0;
  }
  std::size_t row_floats() const { return (heads + 2 * kv_heads) * head_size; }
  std::size_t out_floats() const { return rows.size() * heads * head_size; }

  std::span<const std::uint32_t> table(const gpu::RowInput& row) const {
    return {tables.data() + row.table * blocks_each, blocks_each};
  }
  const float* query(std::size_t row, std::size_t head) const {
    return qkv.data() + row * row_floats() + head * head_size;
  }
  /// `count` query heads of a row from `head` on, which share a KV head.
  numerics::QueryGroup group(std::size_t row, std::size_t head, std::size_t count) const {
    return {.q = query(row, head),
            .heads = static_cast<int>(count),
            .scale = scale,
            .score_cap = score_cap,
            .sinks = sinks.host != nullptr ? sinks.data() + head : nullptr};
  }
  /// What a row sees of a KV head.
  numerics::PagedKV view(const gpu::RowInput& row, std::size_t head) const {
    numerics::PagedKV seen =
        kv->view({.head = static_cast<int>(head)}, table(row), row.position + 1);
    seen.first = static_cast<int>(first_seen(row));
    return seen;
  }
  gpu::KvLayer layer() const {
    return {.pool = pool.device,
            .block_stride = 2 * kv_heads * head_size * block_size,
            .tables = tables.device,
            .table_stride = static_cast<std::uint32_t>(blocks_each),
            .block_size = static_cast<int>(block_size),
            .kv_heads = static_cast<int>(kv_heads),
            .group_size = static_cast<int>(heads / kv_heads),
            .head_size = static_cast<int>(head_size),
            .type = kv->type()};
  }
};

/// Random keys and values of all positions.
std::shared_ptr<const model::KvPool> kv_of(KernelCaseBuilder& b, const Cache& cache,
                                           std::size_t blocks) {
  auto pool = std::make_shared<model::KvPool>(
      model::KvShape{.heads = b.sizes().kv_heads, .head_size = b.sizes().head_size},
      static_cast<std::uint32_t>(blocks), static_cast<std::uint32_t>(cache.block_size),
      b.kv_type());
  const std::size_t D = cache.head_size;
  const std::size_t context = b.size(&Sizes::context);
  const std::vector<float> kv = b.floats(b.size(&Sizes::seqs) * context * cache.kv_heads * 2 * D);
  auto next = kv.begin();
  std::vector<float> key(D);
  std::vector<float> value(D);
  for (std::uint32_t seq = 0; seq < b.size(&Sizes::seqs); ++seq) {
    for (std::uint32_t j = 0; j < context; ++j) {
      for (int head = 0; head < b.sizes().kv_heads; ++head) {
        for (std::size_t d = 0; d < D; ++d) {
          key[d] = *next++;
          value[d] = *next++;
        }
        pool->store({.head = head}, cache.table({.table = seq}), j, key.data(), value.data());
      }
    }
  }
  return pool;
}

/// The last `rows_each` positions of each sequence are rows of the pass.
Cache make_cache(KernelCaseBuilder& b, std::size_t rows_each) {
  Cache cache{.head_size = b.size(&Sizes::head_size),
              .block_size = b.size(&Sizes::block_size),
              .kv_heads = b.size(&Sizes::kv_heads),
              .heads = b.size(&Sizes::heads),
              .blocks_each = 0,
              .scale = 1 / std::sqrt(static_cast<float>(b.sizes().head_size)),
              .window = b.sizes().window,
              .score_cap = static_cast<float>(b.sizes().cap)};
  const std::size_t context = b.size(&Sizes::context);
  const std::size_t seqs = b.size(&Sizes::seqs);
  cache.blocks_each = (context + cache.block_size - 1) / cache.block_size;
  const std::size_t blocks = seqs * cache.blocks_each;
  cache.tables = b.upload("tables", b.permutation(blocks));
  cache.kv = kv_of(b, cache, blocks);
  cache.pool = b.upload_kv("kv_pool", *cache.kv);
  std::vector<gpu::RowInput> rows;
  for (std::size_t seq = 0; seq < seqs; ++seq) {
    for (std::size_t position = context - rows_each; position < context; ++position) {
      rows.push_back({.position = static_cast<std::uint32_t>(position),
                      .table = static_cast<std::uint32_t>(seq)});
    }
  }
  cache.rows = b.upload("rows", std::move(rows));
  cache.qkv = b.upload("qkv", b.floats(cache.rows.size() * cache.row_floats()));
  if (b.sizes().sinks != 0) cache.sinks = b.upload("sinks", b.floats(cache.heads));
  return cache;
}

gpu::AttentionInput input_of(KernelCaseBuilder& b, const Cache& cache, float* out,
                             std::size_t prompt_tiles) {
  const auto rows = static_cast<std::uint32_t>(cache.rows.size());
  const gpu::PassCounts counts{.rows = rows,
                               .decode_rows = prompt_tiles == 0 ? rows : 0,
                               .prompt_tiles = static_cast<std::uint32_t>(prompt_tiles)};
  return {.counts = b.counts(counts),
          .rows = cache.rows.device,
          .qkv = cache.qkv.device,
          .out = out,
          .kv = cache.layer(),
          .scale = cache.scale,
          .window = cache.window,
          .score_cap = cache.score_cap,
          .sinks = cache.sinks.device};
}

/// out [rows][H][D], as the CPU computes it.
void attend_on_cpu(const Cache& cache, std::vector<float>& out) {
  const std::size_t G = cache.heads / cache.kv_heads;
  for (std::size_t r = 0; r < cache.rows.size(); ++r) {
    for (std::size_t head = 0; head < cache.kv_heads; ++head) {
      numerics::attend(cache.group(r, head * G, G), cache.view(cache.rows[r], head),
                       out.data() + (r * cache.heads + head * G) * cache.head_size);
    }
  }
}

/// partial [rows][H][segments][D + 2]: a, m and l of each segment that has a position that is seen.
void attend_segments_on_cpu(const Cache& cache, std::size_t segments, std::vector<float>& partial) {
  auto next = partial.begin();
  for (std::size_t r = 0; r < cache.rows.size(); ++r) {
    const std::size_t first = cache.first_seen(cache.rows[r]) / numerics::kKeySegment;
    for (std::size_t head = 0; head < cache.heads; ++head) {
      const auto kv = cache.view(cache.rows[r], head / (cache.heads / cache.kv_heads));
      for (std::size_t c = 0; c < segments; ++c) {
        if (c >= first) {
          put_segment(attend_segment_reference(cache.group(r, head, 1), kv, static_cast<int>(c)),
                      next);
        }
        next += static_cast<std::ptrdiff_t>(cache.head_size) + 2;
      }
    }
  }
}

std::size_t segments_of(const KernelCaseBuilder& b) {
  return (b.size(&Sizes::context) + numerics::kKeySegment - 1) / numerics::kKeySegment;
}

}  // namespace

gpu::KernelLaunch build_rotate_and_store(KernelCaseBuilder& b) {
  constexpr double kBase = 10000;
  const Cache cache = make_cache(b, 1);
  const std::size_t turning =
      b.size(&Sizes::rotary_size) > 0 ? b.size(&Sizes::rotary_size) : cache.head_size;
  const std::size_t half = turning / 2;
  std::vector<float> angles;  // [positions][2][turning / 2]
  for (std::size_t position = 0; position < b.size(&Sizes::context); ++position) {
    const std::size_t row = angles.size();
    angles.resize(row + turning);
    for (std::size_t i = 0; i < half; ++i) {
      const double frequency =
          numerics::rotary_frequency(kBase, static_cast<int>(i), static_cast<int>(turning));
      const numerics::SinCos turned = numerics::sincos(static_cast<double>(position) * frequency);
      angles[row + i] = turned.cos;
      angles[row + half + i] = turned.sin;
    }
  }
  const auto rotary = b.upload("rotary", std::move(angles));
  const bool adjacent = b.sizes().adjacent != 0;
  const auto rotate = [=](float* head, std::uint32_t position) {
    const auto turn =
        adjacent ? numerics::rotate_adjacent_pairs_reference : numerics::rotate_pairs_reference;
    const float* const cos = rotary.data() + position * turning;
    turn(head, cos, cos + half, static_cast<int>(half));
  };
  b.expect<float>(cache.qkv, [=](std::vector<float>& qkv) {
    for (std::size_t r = 0; r < cache.rows.size(); ++r) {
      for (std::size_t head = 0; head < cache.heads; ++head) {
        rotate(&qkv[r * cache.row_floats() + head * cache.head_size], cache.rows[r].position);
      }
    }
  });
  b.expect<std::uint32_t>(cache.pool, [=](std::vector<std::uint32_t>& words) {
    model::KvPool pool = *cache.kv;
    for (std::size_t r = 0; r < cache.rows.size(); ++r) {
      const gpu::RowInput& row = cache.rows[r];
      for (std::size_t head = 0; head < cache.kv_heads; ++head) {
        const float* const k =
            cache.qkv.data() + r * cache.row_floats() + (cache.heads + head) * cache.head_size;
        std::vector<float> key(k, k + cache.head_size);
        rotate(key.data(), row.position);
        pool.store({.head = static_cast<int>(head)}, cache.table(row), row.position, key.data(),
                   k + cache.kv_heads * cache.head_size);
      }
    }
    words = words_of(pool);
  });
  const gpu::RotateAndStoreArgs args{.counts = b.row_counts(cache.rows.size()),
                                     .rows = cache.rows.device,
                                     .rotary = rotary.device,
                                     .rotary_size = static_cast<int>(turning),
                                     .adjacent = adjacent,
                                     .qkv = cache.qkv.device,
                                     .kv = cache.layer()};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

gpu::KernelLaunch build_attend_decode(KernelCaseBuilder& b) {
  const Cache cache = make_cache(b, 1);
  const auto out = b.output<float>("out", cache.out_floats());
  b.expect<float>(out, [=](std::vector<float>& values) { attend_on_cpu(cache, values); });
  const gpu::AttendDecodeArgs args{input_of(b, cache, out.device, 0)};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

gpu::KernelLaunch build_attend_split(KernelCaseBuilder& b) {
  const Cache cache = make_cache(b, 1);
  const std::size_t segments = segments_of(b);
  const auto partial = b.output<float>(
      "partial", cache.rows.size() * cache.heads * segments * (cache.head_size + 2));
  b.expect<float>(partial, [=](std::vector<float>& values) {
    attend_segments_on_cpu(cache, segments, values);
  });
  const gpu::AttendSplitArgs args{input_of(b, cache, nullptr, 0), partial.device,
                                  static_cast<int>(segments)};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

gpu::KernelLaunch build_attend_merge(KernelCaseBuilder& b) {
  const Cache cache = make_cache(b, 1);
  const std::size_t segments = segments_of(b);
  std::vector<float> values(cache.rows.size() * cache.heads * segments * (cache.head_size + 2));
  attend_segments_on_cpu(cache, segments, values);
  const auto partial = b.upload("partial", std::move(values));
  const auto out = b.output<float>("out", cache.out_floats());
  b.expect<float>(out, [=](std::vector<float>& merged) { attend_on_cpu(cache, merged); });
  const gpu::AttendMergeArgs args{input_of(b, cache, out.device, 0), partial.device,
                                  static_cast<int>(segments)};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

gpu::KernelLaunch build_attend_prompt(KernelCaseBuilder& b) {
  const std::uint32_t rows = static_cast<std::uint32_t>(b.sizes().rows);
  const Cache cache = make_cache(b, rows);
  std::vector<gpu::PromptTile> tiles;
  for (std::uint32_t seq = 0; seq < b.size(&Sizes::seqs); ++seq) {
    for (std::uint32_t first = 0; first < rows; first += gpu::PromptTile::kMaxRows) {
      tiles.push_back(
          {seq * rows + first, std::min<std::uint32_t>(gpu::PromptTile::kMaxRows, rows - first)});
    }
  }
  const auto uploaded = b.upload("tiles", std::move(tiles));
  const auto out = b.output<float>("out", cache.out_floats());
  b.expect<float>(out, [=](std::vector<float>& values) { attend_on_cpu(cache, values); });
  const gpu::AttendPromptArgs args{input_of(b, cache, out.device, uploaded.size()),
                                   uploaded.device};
  return gpu::launch_of(args, args.shape(static_cast<int>(uploaded.size())));
}

}  // namespace forge::apps
