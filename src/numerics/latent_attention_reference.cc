// The definition of latent_attention.h: that of attention.h with one row for key and value.
#include <algorithm>
#include <vector>

#include "forge/numerics/canonical.h"
#include "forge/numerics/latent_attention.h"

namespace forge::numerics {
namespace {

const float* row_of(const PagedLatent& latent, int position) {
  const auto index = static_cast<std::size_t>(position / latent.block_size);
  return latent.rows + static_cast<std::ptrdiff_t>(latent.blocks[index]) * latent.block_stride +
         static_cast<std::ptrdiff_t>(position % latent.block_size) * latent.key_size;
}

struct SegmentResult {
  float m;
  float l;
  std::vector<float> a;
};

SegmentResult attend_segment(const float* q, float scale, const PagedLatent& latent, int first) {
  const int size = std::min(kKeySegment, latent.length - first);
  float p[kKeySegment] = {};
  for (int j = 0; j < size; ++j) {
    float dot = 0.0f;
    for (int d = 0; d < latent.key_size; ++d) dot = fma(q[d], row_of(latent, first + j)[d], dot);
    p[j] = dot * scale;
  }

  SegmentResult segment{max_reference(p, size), 0.0f, {}};
  for (int j = 0; j < size; ++j) p[j] = exp(p[j] - segment.m);
  segment.l = sum_reference(p, size);
  for (int d = 0; d < latent.value_size; ++d) {
    float a = 0.0f;
    for (int j = 0; j < size; ++j) a = fma(p[j], row_of(latent, first + j)[d], a);
    segment.a.push_back(a);
  }
  return segment;
}

}  // namespace

void attend_latent_reference(const QueryGroup& group, const PagedLatent& latent, float* out) {
  for (int head = 0; head < group.heads; ++head) {
    const float* q = group.q + head * latent.key_size;
    SegmentResult total = attend_segment(q, group.scale, latent, 0);
    for (int first = kKeySegment; first < latent.length; first += kKeySegment) {
      const SegmentResult segment = attend_segment(q, group.scale, latent, first);
      const float m = std::max(total.m, segment.m);
      const float e = exp(total.m - m);
      const float f = exp(segment.m - m);
      total.m = m;
      total.l = fma(total.l, e, segment.l * f);
      for (std::size_t d = 0; d < total.a.size(); ++d) {
        total.a[d] = fma(total.a[d], e, segment.a[d] * f);
      }
    }
    for (const float a : total.a) *out++ = divide(a, total.l);
  }
}

}  // namespace forge::numerics
