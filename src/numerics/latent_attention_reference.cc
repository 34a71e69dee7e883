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

struct ChunkResult {
  float m;
  float l;
  std::vector<float> a;
};

ChunkResult attend_chunk(const float* q, float scale, const PagedLatent& latent, int first) {
  const int size = std::min(kKeyChunk, latent.length - first);
  float p[kKeyChunk] = {};
  for (int j = 0; j < size; ++j) {
    float dot = 0.0f;
    for (int d = 0; d < latent.key_size; ++d) dot = fma(q[d], row_of(latent, first + j)[d], dot);
    p[j] = dot * scale;
  }

  ChunkResult chunk{max_reference(p, size), 0.0f, {}};
  for (int j = 0; j < size; ++j) p[j] = exp(p[j] - chunk.m);
  chunk.l = sum_reference(p, size);
  for (int d = 0; d < latent.value_size; ++d) {
    float a = 0.0f;
    for (int j = 0; j < size; ++j) a = fma(p[j], row_of(latent, first + j)[d], a);
    chunk.a.push_back(a);
  }
  return chunk;
}

}  // namespace

void attend_latent_reference(const QueryGroup& group, const PagedLatent& latent, float* out) {
  for (int head = 0; head < group.heads; ++head) {
    const float* q = group.q + head * latent.key_size;
    ChunkResult total = attend_chunk(q, group.scale, latent, 0);
    for (int first = kKeyChunk; first < latent.length; first += kKeyChunk) {
      const ChunkResult chunk = attend_chunk(q, group.scale, latent, first);
      const float m = std::max(total.m, chunk.m);
      const float e = exp(total.m - m);
      const float f = exp(chunk.m - m);
      total.m = m;
      total.l = fma(total.l, e, chunk.l * f);
      for (std::size_t d = 0; d < total.a.size(); ++d) {
        total.a[d] = fma(total.a[d], e, chunk.a[d] * f);
      }
    }
    for (const float a : total.a) *out++ = divide(a, total.l);
  }
}

}  // namespace forge::numerics
