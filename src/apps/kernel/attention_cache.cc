#include "attention_cache.h"

#include <cmath>

#include "forge/numerics/reference.h"
#include "forge/numerics/rotary.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;

/// Random keys and values of all positions.
std::shared_ptr<const model::KvPool> kv_of(KernelCaseBuilder& b, const AttentionCache& cache,
                                           std::size_t blocks, numerics::KvType type) {
  auto pool = std::make_shared<model::KvPool>(
      model::KvShape{.heads = b.sizes().kv_heads, .head_size = b.sizes().head_size},
      static_cast<std::uint32_t>(blocks), static_cast<std::uint32_t>(cache.block_size), type);
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

}  // namespace

AttentionCache make_cache(KernelCaseBuilder& b, std::size_t rows_each, numerics::KvType type) {
  AttentionCache cache{.head_size = b.size(&Sizes::head_size),
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
  cache.kv = kv_of(b, cache, blocks, type);
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

void Rotary::turn(float* head, std::uint32_t position) const {
  const auto turned =
      adjacent ? numerics::rotate_adjacent_pairs_reference : numerics::rotate_pairs_reference;
  const float* const cos = angles.data() + position * size;
  turned(head, cos, cos + size / 2, static_cast<int>(size / 2));
}

Rotary make_rotary(KernelCaseBuilder& b) {
  constexpr double kBase = 10000;
  const std::size_t turning =
      b.size(b.sizes().rotary_size > 0 ? &Sizes::rotary_size : &Sizes::head_size);
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
  return {turning, b.sizes().adjacent != 0, b.upload("rotary", std::move(angles))};
}

}  // namespace forge::apps
