// The definition of span_attention.h, in the order of its comment. One head, one span, one tile at
// a time.
#include "forge/numerics/span_attention.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "forge/numerics/tensor_product.h"

namespace forge::numerics {
namespace {

template <class Half>
using Tile = std::array<Half, kSpanTile>;

/// D numbers of a position.
template <class Half>
std::span<const Half> numbers_of(const void* pool, const PagedKV& kv, int position) {
  const std::uint32_t block = kv.blocks[static_cast<std::size_t>(position / kv.block_size)];
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(block) * kv.block_stride +
                            position % kv.block_size * kv.head_size;
  return {static_cast<const Half*>(pool) + at, static_cast<std::size_t>(kv.head_size)};
}

/// sum + p . values over the 64 keys of a tile.
template <class Half>
float add_tile(const StepModel& model, const Tile<Half>& p, const Tile<Half>& values, float sum) {
  for (std::size_t k = 0; k < p.size(); k += kStepProducts) {
    sum = matrix_step(model, step_row(std::span(p).subspan(k).template first<kStepProducts>()),
                      step_row(std::span(values).subspan(k).template first<kStepProducts>()), sum);
  }
  return sum;
}

/// What a tile is multiplied with.
template <class Half>
struct Query {
  std::vector<Half> q;  ///< [D]
  float scale;
  float scale_log2;
  float cap;
};

/// Adds the tile that begins at `start`. Requires: a position of it is seen.
template <class Half>
void add(const StepModel& model, const Query<Half>& query, const PagedKV& kv, int start,
         AttentionSpan& span) {
  const int first = std::max(kv.first - start, 0);  // within the tile
  const int end = std::min(kSpanTile, kv.length - start);
  std::array<float, kSpanTile> scores{};
  float m = span.m;
  for (int j = first; j < end; ++j) {
    const float product = tensor_product(model, numbers_of<Half>(kv.keys, kv, start + j),
                                         std::span<const Half>(query.q));
    float& score = scores[static_cast<std::size_t>(j)];
    score = span_score(product, query.scale, query.scale_log2, query.cap);
    m = std::max(m, score);
  }
  m = m + 0.0f;  // -0 becomes +0
  Tile<Half> p{};
  Tile<Half> ones{};
  ones.fill(half_of<Half>(1));
  for (int j = first; j < end; ++j) {
    const auto at = static_cast<std::size_t>(j);
    p[at] = half_of<Half>(exp2(scores[at] - m));
  }
  const float factor = exp2(span.m - m);
  span.m = m;
  span.l = add_tile(model, p, ones, span.l * factor);
  for (int d = 0; d < kv.head_size; ++d) {
    const auto component = static_cast<std::size_t>(d);
    Tile<Half> values{};
    for (int j = first; j < end; ++j) {
      values[static_cast<std::size_t>(j)] = numbers_of<Half>(kv.values, kv, start + j)[component];
    }
    span.a[component] = add_tile(model, p, values, span.a[component] * factor);
  }
}

template <class Half>
AttentionSpan span_of(const StepModel& model, const QueryGroup& head, const PagedKV& kv,
                      int index) {
  Query<Half> query{.scale = head.scale, .scale_log2 = head.scale * kLog2E, .cap = head.score_cap};
  for (int d = 0; d < kv.head_size; ++d) query.q.push_back(half_of<Half>(head.q[d]));
  AttentionSpan span{.a = std::vector<float>(query.q.size(), 0.0f)};
  const int end = std::min((index + 1) * kSpan, kv.length);
  for (int start = index * kSpan; start < end; start += kSpanTile) {
    if (start + kSpanTile > kv.first) add(model, query, kv, start, span);
  }
  return span;
}

/// M, L and A of a head.
struct Total {
  float m = kLowestScore;
  float l = 0;
  std::vector<float> a;

  void merge(float added_m, float added_l, std::span<const float> added) {
    const SpanFactors factors = span_factors(m, added_m);
    m = factors.m;
    l = factors.merged(l, added_l);
    for (std::size_t d = 0; d < a.size(); ++d) a[d] = factors.merged(a[d], added[d]);
  }
};

/// Whose values are as long as the keys: sums of the components that are none are not looked at.
PagedKV keys_of(const PagedLatent& latent) {
  return {.keys = latent.rows,
          .values = latent.rows,
          .block_stride = latent.block_stride,
          .block_size = latent.block_size,
          .head_size = latent.key_size,
          .blocks = latent.blocks,
          .length = latent.length,
          .first = 0,
          .type = latent.type};
}

}  // namespace

AttentionSpan span_reference(const StepModel& model, const QueryGroup& head, const PagedKV& kv,
                             int index) {
  return kv.type == KvType::f16 ? span_of<F16>(model, head, kv, index)
                                : span_of<BF16>(model, head, kv, index);
}

void span_attention_reference(const StepModel& model, const QueryGroup& group, const PagedKV& kv,
                              float* out) {
  const auto head_size = static_cast<std::size_t>(kv.head_size);
  const std::vector<float> no_value(head_size, 0.0f);
  for (int head = 0; head < group.heads; ++head) {
    QueryGroup alone = group;
    alone.heads = 1;
    alone.q = group.q + head * kv.head_size;
    Total total{.a = no_value};
    for (int index = kv.first / kSpan; index * kSpan < kv.length; ++index) {
      const AttentionSpan span = span_reference(model, alone, kv, index);
      total.merge(span.m, span.l, span.a);
    }
    if (group.sinks != nullptr) total.merge(group.sinks[head] * kLog2E, 1, no_value);
    for (const float a : total.a) *out++ = span_result(a, total.l);
  }
}

AttentionSpan span_reference(const StepModel& model, const QueryGroup& head,
                             const PagedLatent& latent, int index) {
  AttentionSpan span = span_reference(model, head, keys_of(latent), index);
  span.a.resize(static_cast<std::size_t>(latent.value_size));
  return span;
}

void span_attention_reference(const StepModel& model, const QueryGroup& group,
                              const PagedLatent& latent, float* out) {
  const auto key_size = static_cast<std::size_t>(latent.key_size);
  std::vector<float> of_keys(static_cast<std::size_t>(group.heads) * key_size);
  span_attention_reference(model, group, keys_of(latent), of_keys.data());
  for (std::size_t at = 0; at < of_keys.size(); at += key_size) {
    out = std::copy_n(&of_keys[at], latent.value_size, out);
  }
}

}  // namespace forge::numerics
