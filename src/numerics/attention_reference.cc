// The definition of attention.h, in the order of its comment. One head, one chunk at a time.
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

struct ChunkResult {
  float m;
  float l;
  float a[kHeadSizeMax];
};

ChunkResult attend_chunk(const float* q, float scale, const PagedKV& kv, int first) {
  const int size = std::min(kKeyChunk, kv.length - first);
  float p[kKeyChunk] = {};
  for (int j = 0; j < size; ++j) {
    float dot = 0.0f;
    for (int d = 0; d < kv.head_size; ++d) dot = fma(q[d], key(kv, first + j, d), dot);
    p[j] = dot * scale;
  }

  ChunkResult chunk{};
  chunk.m = max_reference(p, size);
  for (int j = 0; j < size; ++j) p[j] = exp(p[j] - chunk.m);
  chunk.l = sum_reference(p, size);
  for (int d = 0; d < kv.head_size; ++d) {
    for (int j = 0; j < size; ++j) chunk.a[d] = fma(p[j], value(kv, first + j, d), chunk.a[d]);
  }
  return chunk;
}

}  // namespace

void attend_reference(const QueryGroup& group, const PagedKV& kv, float* out) {
  for (int head = 0; head < group.heads; ++head) {
    const float* q = group.q + head * kv.head_size;
    ChunkResult total = attend_chunk(q, group.scale, kv, 0);
    for (int first = kKeyChunk; first < kv.length; first += kKeyChunk) {
      const ChunkResult chunk = attend_chunk(q, group.scale, kv, first);
      const float m = std::max(total.m, chunk.m);
      const float e = exp(total.m - m);
      const float f = exp(chunk.m - m);
      total.m = m;
      total.l = fma(total.l, e, chunk.l * f);
      for (int d = 0; d < kv.head_size; ++d) total.a[d] = fma(total.a[d], e, chunk.a[d] * f);
    }
    for (int d = 0; d < kv.head_size; ++d) {
      out[head * kv.head_size + d] = divide(total.a[d], total.l);
    }
  }
}

}  // namespace forge::numerics
