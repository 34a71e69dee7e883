// Inputs of the kernels of attention: sequences whose KV lies in a pool of blocks.
#include <algorithm>

#include "attention_cache.h"
#include "forge/numerics/attention.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;

gpu::AttentionInput input_of(KernelCaseBuilder& b, const AttentionCache& cache, float* out,
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
void attend_on_cpu(const AttentionCache& cache, std::vector<float>& out) {
  const std::size_t G = cache.heads / cache.kv_heads;
  for (std::size_t r = 0; r < cache.rows.size(); ++r) {
    for (std::size_t head = 0; head < cache.kv_heads; ++head) {
      numerics::attend(cache.group(r, head * G, G), cache.view(cache.rows[r], head),
                       out.data() + (r * cache.heads + head * G) * cache.head_size);
    }
  }
}

/// partial [rows][H][segments][D + 2]: a, m and l of each segment that has a position that is seen.
void attend_segments_on_cpu(const AttentionCache& cache, std::size_t segments,
                            std::vector<float>& partial) {
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
  const AttentionCache cache = make_cache(b, 1, b.kv_type());
  const Rotary rotary = make_rotary(b);
  b.expect<float>(cache.qkv, [=](std::vector<float>& qkv) {
    for (std::size_t r = 0; r < cache.rows.size(); ++r) {
      for (std::size_t head = 0; head < cache.heads; ++head) {
        rotary.turn(&qkv[r * cache.row_floats() + head * cache.head_size], cache.rows[r].position);
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
        rotary.turn(key.data(), row.position);
        pool.store({.head = static_cast<int>(head)}, cache.table(row), row.position, key.data(),
                   k + cache.kv_heads * cache.head_size);
      }
    }
    words = words_of(pool);
  });
  const gpu::RotateAndStoreArgs args{.counts = b.row_counts(cache.rows.size()),
                                     .rows = cache.rows.device,
                                     .rotary = rotary.angles.device,
                                     .rotary_size = static_cast<int>(rotary.size),
                                     .adjacent = rotary.adjacent,
                                     .qkv = cache.qkv.device,
                                     .kv = cache.layer()};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

gpu::KernelLaunch build_attend_decode(KernelCaseBuilder& b) {
  const AttentionCache cache = make_cache(b, 1, b.kv_type());
  const auto out = b.output<float>("out", cache.out_floats());
  b.expect<float>(out, [=](std::vector<float>& values) { attend_on_cpu(cache, values); });
  const gpu::AttendDecodeArgs args{input_of(b, cache, out.device, 0)};
  return gpu::launch_of(args, args.shape(b.sizes().seqs));
}

gpu::KernelLaunch build_attend_split(KernelCaseBuilder& b) {
  const AttentionCache cache = make_cache(b, 1, b.kv_type());
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
  const AttentionCache cache = make_cache(b, 1, b.kv_type());
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
  const AttentionCache cache = make_cache(b, rows, b.kv_type());
  std::vector<gpu::PromptTile> tiles;
  for (std::uint32_t seq = 0; seq < b.size(&Sizes::seqs); ++seq) {
    for (std::uint32_t first = 0; first < rows; first += gpu::AttendPromptArgs::kTileRows) {
      tiles.push_back({seq * rows + first,
                       std::min<std::uint32_t>(gpu::AttendPromptArgs::kTileRows, rows - first)});
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
