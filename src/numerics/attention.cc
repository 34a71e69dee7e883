#include "forge/numerics/attention.h"

#include <algorithm>

#include "forge/core/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "attention-inl.h"
#include "hwy/highway.h"

// Heads of a group go through the context together, up to four at a time: they share the loads
// of keys and values, and their chains along positions, each bound by the latency of fma, overlap.
// So do the chains of neighbouring keys.
HWY_BEFORE_NAMESPACE();
namespace forge::numerics::HWY_NAMESPACE {

HWY_INLINE Pages pages_of(const PagedKV& kv) {
  return {kv.blocks.data(), kv.block_stride, kv.block_size};
}

/// Vectors of keys whose scores are computed side by side, so that there are chains enough to hide
/// the latency of fma.
constexpr int key_vectors(int heads) { return heads < 8 ? 8 / heads : 1; }

/// A vector of keys: where its first components lie, and the first one's column.
struct KeyVector {
  const float* keys;
  int column;
};

/// weights[h][column] = (q_h . k) * scale of the keys of kVectors vectors.
template <int kHeads, int kVectors, class D>
HWY_INLINE void score_vectors(D d, const QueryGroup& group, const PagedKV& kv,
                              const KeyVector* vectors, float* weights) {
  hn::Vec<D> sums[kVectors][kHeads];
  for (auto& head_sums : sums) {
    for (auto& sum : head_sums) sum = hn::Zero(d);
  }
  std::ptrdiff_t offset = 0;
  for (int c = 0; c < kv.head_size; ++c, offset += kv.block_size) {
    hn::Vec<D> k[kVectors];
    for (int v = 0; v < kVectors; ++v) k[v] = hn::LoadU(d, vectors[v].keys + offset);
    for (int h = 0; h < kHeads; ++h) {
      const auto q = hn::Set(d, group.q[h * kv.head_size + c]);
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
HWY_INLINE void score_all(const QueryGroup& group, const PagedKV& kv, const KeyVector* vectors,
                          int count, float* weights) {
  for (; count >= kVectors; count -= kVectors, vectors += kVectors) {
    score_vectors<kHeads, kVectors>(FullTag(), group, kv, vectors, weights);
  }
  if constexpr (kVectors > 1) score_all<kHeads, kVectors / 2>(group, kv, vectors, count, weights);
}

/// weights[h][column] = (q_h . k_j) * scale.
template <int kHeads>
HWY_NOINLINE void compute_scores(const QueryGroup& group, const PagedKV& kv, const Segment& segment,
                                 float* weights) {
  KeyVector vectors[kKeySegment / kFullLanes];
  int count = 0;
  for (int position = segment.first; position < segment.end;) {
    const Run run = run_at(pages_of(kv), position, segment.end);
    const float* const keys = kv.keys + run.block + run.slot;
    const int column = position - segment.start;
    int i = 0;
    for (; i + kFullLanes <= run.size; i += kFullLanes) vectors[count++] = {keys + i, column + i};
    for_each_vector(
        run.size,
        [&](auto d, int at) HWY_ATTR {
          const KeyVector part{keys + at, column + at};
          score_vectors<kHeads, 1>(d, group, kv, &part, weights);
        },
        i);
    position += run.size;
  }
  score_all<kHeads, key_vectors(kHeads)>(group, kv, vectors, count, weights);
}

/// One segment: m_c and l_c of each head, and out [kHeads][D] = a_c.
template <int kHeads>
HWY_INLINE void attend_segment(const QueryGroup& group, const PagedKV& kv, const Segment& segment,
                               Softmax* softmax, float* out) {
  HWY_ALIGN float weights[kHeads * kKeySegment];
  compute_scores<kHeads>(group, kv, segment, weights);
  for (int h = 0; h < kHeads; ++h) {
    if (group.score_cap != 0) {
      soft_cap_lanes(weights + h * kKeySegment + segment.first_column(), group.score_cap,
                     segment.columns() - segment.first_column());
    }
    softmax[h] = scores_to_weights(segment, weights + h * kKeySegment);
  }
  accumulate_values<kHeads>({kv.values, kv.head_size, kv.head_size, pages_of(kv)}, segment, weights,
                            out);
}

/// Attention of the first kHeads heads. out: [kHeads][D].
template <int kHeads>
void attend_heads(const QueryGroup& group, const PagedKV& kv, float* out) {
  Segment segment = segment_from(kv.first, kv.length);
  Softmax total[kHeads];
  attend_segment<kHeads>(group, kv, segment, total, out);

  Softmax softmax[kHeads];
  HWY_ALIGN float part[kHeads * kHeadSizeMax];
  while (segment.end < kv.length) {
    segment = segment_from(segment.end, kv.length);
    attend_segment<kHeads>(group, kv, segment, softmax, part);
    for (int h = 0; h < kHeads; ++h) {
      const int offset = h * kv.head_size;
      merge(total[h], out + offset, softmax[h], part + offset, kv.head_size);
    }
  }
  if (group.sinks != nullptr) {
    std::fill_n(part, kv.head_size, 0.0f);
    for (int h = 0; h < kHeads; ++h) {
      merge(total[h], out + h * kv.head_size, {group.sinks[h], 1.0f}, part, kv.head_size);
    }
  }
  for (int h = 0; h < kHeads; ++h) divide_all(out + h * kv.head_size, total[h].sum, kv.head_size);
}

void attend_impl(const QueryGroup& group, const PagedKV& kv, float* out) {
  QueryGroup left = group;
  const auto run = [&]<int kHeads>() {
    for (; left.heads >= kHeads; left.heads -= kHeads) {
      attend_heads<kHeads>(left, kv, out);
      left.q += kHeads * kv.head_size;
      out += kHeads * kv.head_size;
      if (left.sinks != nullptr) left.sinks += kHeads;
    }
  };
  run.template operator()<4>();
  run.template operator()<2>();
  run.template operator()<1>();
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
