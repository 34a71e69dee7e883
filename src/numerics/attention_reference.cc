// The definition of attention.h, in the order of its comment. One head, one segment at a time.
#include <algorithm>

#include "forge/numerics/attention.h"
#include "forge/numerics/canonical.h"

namespace forge::numerics {
namespace {

const float* block_at(const float* pool, const PagedKV& kv, int position) {
  const auto index = static_cast<std::size_t>(position / kv.block_size);
  return pool + static_cast<std::ptrdiff_t>(kv.blocks[index]) * kv.block_stride;
}

float key(const PagedKV& kv, int position, int d) {
  return block_at(kv.keys, kv, position)[d * kv.block_size + position % kv.block_size];
}

float value(const PagedKV& kv, int position, int d) {
  return block_at(kv.values, kv, position)[position % kv.block_size * kv.head_size + d];
}

struct SegmentResult {
  float m;
  float l;
  float a[kHeadSizeMax];
};

/// `start`: the first position of the segment, a multiple of kKeySegment.
SegmentResult attend_segment(const float* q, float scale, const PagedKV& kv, int start) {
  const int first = std::max(kv.first - start, 0);  // within the segment
  const int end = std::min(kKeySegment, kv.length - start);
  float p[kKeySegment] = {};
  for (int j = first; j < end; ++j) {
    float dot = 0.0f;
    for (int d = 0; d < kv.head_size; ++d) dot = fma(q[d], key(kv, start + j, d), dot);
    p[j] = dot * scale;
  }

  SegmentResult segment{};
  segment.m = max_reference(p + first, end - first);
  for (int j = first; j < end; ++j) p[j] = exp(p[j] - segment.m);
  segment.l =
      sum_reference(p, end);  // a lane that adds the 0 of a position not seen keeps its bits
  for (int d = 0; d < kv.head_size; ++d) {
    for (int j = first; j < end; ++j)
      segment.a[d] = fma(p[j], value(kv, start + j, d), segment.a[d]);
  }
  return segment;
}

}  // namespace

void attend_reference(const QueryGroup& group, const PagedKV& kv, float* out) {
  for (int head = 0; head < group.heads; ++head) {
    const float* q = group.q + head * kv.head_size;
    int start = kv.first / kKeySegment * kKeySegment;
    SegmentResult total = attend_segment(q, group.scale, kv, start);
    while ((start += kKeySegment) < kv.length) {
      const SegmentResult segment = attend_segment(q, group.scale, kv, start);
      const float m = std::max(total.m, segment.m);
      const float e = exp(total.m - m);
      const float f = exp(segment.m - m);
      total.m = m;
      total.l = fma(total.l, e, segment.l * f);
      for (int d = 0; d < kv.head_size; ++d) total.a[d] = fma(total.a[d], e, segment.a[d] * f);
    }
    for (int d = 0; d < kv.head_size; ++d) {
      out[head * kv.head_size + d] = divide(total.a[d], total.l);
    }
  }
}

}  // namespace forge::numerics
