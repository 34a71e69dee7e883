// The definition of attention.h, in the order of its comment, over keys and values and over
// latents. One head, one segment at a time.
#include <algorithm>

#include "forge/numerics/attention.h"
#include "forge/numerics/canonical.h"
#include "forge/numerics/latent_attention.h"

namespace forge::numerics {
namespace {

/// Number `index` of the block of a position, as it is stored; `pool` is where block 0 begins.
template <class Paged>
float number_at(const void* pool, const Paged& paged, int position, int index) {
  const std::uint32_t block = paged.blocks[static_cast<std::size_t>(position / paged.block_size)];
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(block) * paged.block_stride + index;
  if (paged.type == KvType::bf16) return widened(static_cast<const BF16*>(pool)[at]);
  if (paged.type == KvType::f16) return widened(static_cast<const F16*>(pool)[at]);
  return static_cast<const float*>(pool)[at];
}

float key(const PagedKV& kv, int position, int d) {
  const int slot = position % kv.block_size;
  const int index =
      has_transposed_keys(kv.type) ? d * kv.block_size + slot : slot * kv.head_size + d;
  return number_at(kv.keys, kv, position, index);
}
float value(const PagedKV& kv, int position, int d) {
  return number_at(kv.values, kv, position, position % kv.block_size * kv.head_size + d);
}
int key_size(const PagedKV& kv) { return kv.head_size; }
int value_size(const PagedKV& kv) { return kv.head_size; }
int first_of(const PagedKV& kv) { return kv.first; }

float key(const PagedLatent& latent, int position, int d) {
  const int slot = position % latent.block_size;
  return number_at(latent.rows, latent, position, slot * latent.key_size + d);
}
float value(const PagedLatent& latent, int position, int d) { return key(latent, position, d); }
int key_size(const PagedLatent& latent) { return latent.key_size; }
int value_size(const PagedLatent& latent) { return latent.value_size; }
int first_of(const PagedLatent&) { return 0; }

template <class Paged>
AttentionSegment segment_of(const QueryGroup& group, const float* q, const Paged& paged,
                            int index) {
  const int start = index * kKeySegment;
  const int first = std::max(first_of(paged) - start, 0);  // within the segment
  const int end = std::min(kKeySegment, paged.length - start);
  float p[kKeySegment] = {};
  for (int j = first; j < end; ++j) {
    float dot = 0.0f;
    for (int d = 0; d < key_size(paged); ++d) dot = fma(q[d], key(paged, start + j, d), dot);
    p[j] = dot * group.scale;
    if (group.score_cap != 0) p[j] = soft_cap(p[j], group.score_cap);
  }

  AttentionSegment segment{.m = max_reference(p + first, end - first)};
  for (int j = first; j < end; ++j) p[j] = exp(p[j] - segment.m);
  // A lane that adds the 0 of a position not seen keeps its bits.
  segment.l = sum_reference(p, end);
  for (int d = 0; d < value_size(paged); ++d) {
    float a = 0.0f;
    for (int j = first; j < end; ++j) a = fma(p[j], value(paged, start + j, d), a);
    segment.a.push_back(a);
  }
  return segment;
}

/// Merges the next segment into what was seen so far.
void merge(AttentionSegment& total, const AttentionSegment& segment) {
  const float m = std::max(total.m, segment.m);
  const float e = exp(total.m - m);
  const float f = exp(segment.m - m);
  total.m = m;
  total.l = fma(total.l, e, segment.l * f);
  for (std::size_t d = 0; d < total.a.size(); ++d) {
    total.a[d] = fma(total.a[d], e, segment.a[d] * f);
  }
}

template <class Paged>
void attend_all(const QueryGroup& group, const Paged& paged, float* out) {
  for (int head = 0; head < group.heads; ++head) {
    const float* q = group.q + head * key_size(paged);
    int index = first_of(paged) / kKeySegment;
    AttentionSegment total = segment_of(group, q, paged, index);
    while (++index * kKeySegment < paged.length) {
      merge(total, segment_of(group, q, paged, index));
    }
    if (group.sinks != nullptr) {
      const std::vector<float> no_value(total.a.size(), 0.0f);
      merge(total, {.m = group.sinks[head], .l = 1, .a = no_value});
    }
    for (const float a : total.a) *out++ = divide(a, total.l);
  }
}

}  // namespace

void attend_reference(const QueryGroup& group, const PagedKV& kv, float* out) {
  attend_all(group, kv, out);
}
void attend_reference(const QueryGroup& group, const PagedLatent& latent, float* out) {
  attend_all(group, latent, out);
}

AttentionSegment attend_segment_reference(const QueryGroup& head, const PagedKV& kv, int index) {
  return segment_of(head, head.q, kv, index);
}
AttentionSegment attend_segment_reference(const float* q, float scale, const PagedLatent& latent,
                                          int index) {
  return segment_of({q, 1, scale}, q, latent, index);
}

}  // namespace forge::numerics
