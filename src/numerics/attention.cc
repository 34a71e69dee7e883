#include "forge/numerics/attention.h"

#include <algorithm>

#include "forge/core/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "attention-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

// Heads of a group go through the context together, and four at a time through a segment: they
// share the loads of keys and values, and their chains along positions, each bound by the latency
// of fma, overlap. So do the chains of neighbouring keys.
//
// Keys of f32 are read as they lie. Of 16 bits a tile of keys is widened and transposed, once for
// all heads; then its scores are computed alike.
HWY_BEFORE_NAMESPACE();
namespace forge::numerics::HWY_NAMESPACE {

HWY_INLINE Pages pages_of(const PagedKV& kv) {
  return {kv.blocks.data(), kv.block_stride, kv.block_size};
}

/// Vectors of keys whose scores are computed side by side, so that there are chains enough to hide
/// the latency of fma.
constexpr int key_vectors(int heads) { return heads < 8 ? 8 / heads : 1; }

/// Heads that go through the context together.
inline constexpr int kTogether = 16;

/// Keys that are widened together.
inline constexpr int kTileVectors = 2;
inline constexpr int kTileKeys = kTileVectors * kFullLanes;

/// A vector of keys: where its first components lie, and the first one's column.
struct KeyVector {
  const float* keys;
  int column;
};

/// Keys have `size` components, each `stride` floats after the one before.
struct KeyStride {
  int size;
  int stride;
};

/// weights[h][column] = (q_h . k) * scale of the keys of kVectors vectors, for kHeads heads.
template <int kHeads, int kVectors, class D>
HWY_INLINE void score_vectors(D d, const QueryGroup& group, KeyStride key, const KeyVector* vectors,
                              float* weights) {
  hn::Vec<D> sums[kVectors][kHeads];
  for (auto& head_sums : sums) {
    for (auto& sum : head_sums) sum = hn::Zero(d);
  }
  std::ptrdiff_t offset = 0;
  for (int c = 0; c < key.size; ++c, offset += key.stride) {
    hn::Vec<D> k[kVectors];
    for (int v = 0; v < kVectors; ++v) k[v] = hn::LoadU(d, vectors[v].keys + offset);
    for (int h = 0; h < kHeads; ++h) {
      const auto q = hn::Set(d, group.q[h * key.size + c]);
      for (int v = 0; v < kVectors; ++v) sums[v][h] = fused(q, k[v], sums[v][h]);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    for (int h = 0; h < kHeads; ++h) {
      const auto score = hn::Mul(sums[v][h], hn::Set(d, group.scale));
      hn::StoreU(score, d, weights + h * kKeySegment + vectors[v].column);
    }
  }
}

/// As many full vectors as there are, kVectors at a time, then fewer.
template <int kHeads, int kVectors>
HWY_INLINE void score_all(const QueryGroup& group, KeyStride key, const KeyVector* vectors,
                          int count, float* weights) {
  for (; count >= kVectors; count -= kVectors, vectors += kVectors) {
    score_vectors<kHeads, kVectors>(FullTag(), group, key, vectors, weights);
  }
  if constexpr (kVectors > 1) score_all<kHeads, kVectors / 2>(group, key, vectors, count, weights);
}

/// weights[h][column] = (q_h . k_j) * scale, of kHeads heads.
template <int kHeads>
HWY_NOINLINE void score_keys(const QueryGroup& group, const PagedKV& kv, const Segment& segment,
                             float* weights) {
  const KeyStride key{kv.head_size, kv.block_size};
  KeyVector vectors[kKeySegment / kFullLanes];
  int count = 0;
  for (int position = segment.first; position < segment.end;) {
    const Run run = run_at(pages_of(kv), position, segment.end);
    const float* const keys = static_cast<const float*>(kv.keys) + run.block + run.slot;
    const int column = position - segment.start;
    int i = 0;
    for (; i + kFullLanes <= run.size; i += kFullLanes) vectors[count++] = {keys + i, column + i};
    for_each_vector(
        run.size,
        [&](auto d, int at) HWY_ATTR {
          const KeyVector part{keys + at, column + at};
          score_vectors<kHeads, 1>(d, group, key, &part, weights);
        },
        i);
    position += run.size;
  }
  score_all<kHeads, key_vectors(kHeads)>(group, key, vectors, count, weights);
}

/// The heads from `head` on.
HWY_INLINE QueryGroup group_from(const QueryGroup& group, int head, int head_size) {
  QueryGroup rest = group;
  rest.q += static_cast<std::ptrdiff_t>(head) * head_size;
  return rest;
}

/// weights[h][column] = (q_h . k_j) * scale, of all heads.
HWY_INLINE void compute_scores(const QueryGroup& group, const PagedKV& kv, const Segment& segment,
                               float* weights, float /*stored*/) {
  for_each_heads(group.heads, [&]<int kHeads>(int head) HWY_ATTR {
    score_keys<kHeads>(group_from(group, head, kv.head_size), kv, segment,
                       weights + head * kKeySegment);
  });
}

/// Where the keys of columns [column, column + kTileKeys) lie, one after the other. A column that
/// is not seen has another one's key, and a score that nobody wants.
template <class Stored>
HWY_INLINE void find_keys(const PagedKV& kv, const Segment& segment, int column,
                          const Stored** rows) {
  for (int i = 0; i < kTileKeys; ++i) {
    const int position = std::clamp(segment.start + column + i, segment.first, segment.end - 1);
    const Run run = run_at(pages_of(kv), position, position + 1);
    rows[i] = static_cast<const Stored*>(kv.keys) + run.block +
              static_cast<std::ptrdiff_t>(run.slot) * kv.head_size;
  }
}

/// Many rows, each read in part before the next, are no stream that the CPU would see.
template <class Stored>
HWY_INLINE void fetch_ahead(const Stored* row, int size) {
  constexpr int kLine = 64 / sizeof(Stored);
  for (int c = 0; c < size; c += kLine) hwy::Prefetch(row + c);
}

template <class Stored>
HWY_NOINLINE void compute_scores(const QueryGroup& group, const PagedKV& kv, const Segment& segment,
                                 float* weights, Stored /*stored*/) {
  const int D = kv.head_size;
  const KeyStride key{D, kTileKeys};
  HWY_ALIGN float tile[kTileKeys * kHeadSizeMax];  // [D][kTileKeys]
  const Stored* rows[kTileKeys];
  KeyVector vectors[kTileVectors];
  const int first = segment.first_column() / kTileKeys * kTileKeys;
  for (int column = first; column < segment.columns(); column += kTileKeys) {
    find_keys(kv, segment, column + kTileKeys, rows);
    for (const Stored* row : rows) fetch_ahead(row, D);
    find_keys(kv, segment, column, rows);
    widen_transposed<kTileKeys>(rows, D, tile);
    for (int v = 0; v < kTileVectors; ++v) {
      vectors[v] = {tile + v * kFullLanes, column + v * kFullLanes};
    }
    for_each_heads(group.heads, [&]<int kHeads>(int head) HWY_ATTR {
      score_vectors<kHeads, kTileVectors>(FullTag(), group_from(group, head, D), key, vectors,
                                          weights + head * kKeySegment);
    });
  }
}

/// Attention of up to kTogether heads. out: [heads][D].
template <class Stored>
void attend_heads(const QueryGroup& group, const PagedKV& kv, float* out) {
  const int D = kv.head_size;
  const Values<Stored> values{static_cast<const Stored*>(kv.values), D, D, pages_of(kv)};
  Softmax total[kTogether];
  HWY_ALIGN float weights[kTogether * kKeySegment];
  HWY_ALIGN float part[4 * kHeadSizeMax];
  SegmentHeads heads{group, weights, total, out, part, true};
  for (int first = kv.first; first < kv.length;) {
    const Segment segment = segment_from(first, kv.length);
    compute_scores(group, kv, segment, weights, Stored());
    for_each_heads(group.heads, [&]<int kHeads>(int head) HWY_ATTR {
      add_segment<kHeads>(values, segment, heads, head);
    });
    heads.is_first = false;
    first = segment.end;
  }
  if (group.sinks != nullptr) {
    std::fill_n(part, D, 0.0f);
    for (int h = 0; h < group.heads; ++h) {
      merge(total[h], out + h * D, {group.sinks[h], 1.0f}, part, D);
    }
  }
  for (int h = 0; h < group.heads; ++h) divide_all(out + h * D, total[h].sum, D);
}

template <class Stored>
void attend_stored(const QueryGroup& group, const PagedKV& kv, float* out) {
  for (int head = 0; head < group.heads; head += kTogether) {
    QueryGroup some = group_from(group, head, kv.head_size);
    some.heads = std::min(kTogether, group.heads - head);
    if (some.sinks != nullptr) some.sinks += head;
    attend_heads<Stored>(some, kv, out + static_cast<std::ptrdiff_t>(head) * kv.head_size);
  }
}

void attend_impl(const QueryGroup& group, const PagedKV& kv, float* out) {
  switch (kv.type) {
    case KvType::f32:
      return attend_stored<float>(group, kv, out);
    case KvType::bf16:
      return attend_stored<BF16>(group, kv, out);
    case KvType::f16:
      return attend_stored<F16>(group, kv, out);
  }
}

}  // namespace forge::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forge::numerics {

HWY_EXPORT(attend_impl);

void attend(const QueryGroup& group, const PagedKV& kv, float* out) {
  FORGE_CHECK(group.heads >= 1, "heads=", group.heads);
  FORGE_CHECK(kv.block_size >= 1, "block_size=", kv.block_size);
  FORGE_CHECK(kv.head_size >= 1 && kv.head_size <= kHeadSizeMax, "head_size=", kv.head_size);
  FORGE_CHECK(kv.first >= 0 && kv.first < kv.length, "first=", kv.first, " length=", kv.length);
  HWY_DYNAMIC_DISPATCH(attend_impl)(group, kv, out);
}

}  // namespace forge::numerics
#endif  // HWY_ONCE
