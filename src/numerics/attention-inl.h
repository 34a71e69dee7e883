// What attention over keys and values (attention.cc) and over latents (latent_attention.cc) share:
// segments of the softmax, their sums of values, and how segments are merged.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "forge/numerics/attention.h"
#include "hwy/highway.h"
#include "kv_load-inl.h"
#include "simd-inl.h"

#if defined(FORGE_NUMERICS_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORGE_NUMERICS_ATTENTION_INL_H
#undef FORGE_NUMERICS_ATTENTION_INL_H
#else
#define FORGE_NUMERICS_ATTENTION_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::numerics::HWY_NAMESPACE {

/// Vectors along a value that one pass over the context carries for `heads` heads.
constexpr int value_vectors(int heads) {
#if HWY_CAP_GE512 || HWY_ARCH_ARM_A64
  return 16 / heads;  // accumulators, of 32 registers
#else
  return 8 / heads;  // of 16 registers
#endif
}

/// Where the positions of a sequence lie.
struct Pages {
  const std::uint32_t* blocks;
  std::ptrdiff_t block_stride;
  int block_size;
};

/// Consecutive positions that lie in one block.
struct Run {
  std::ptrdiff_t block;  ///< offset of the block, in numbers
  int slot;              ///< first slot
  int size;              ///< slots, >= 1
};

/// The run that starts at `position` and ends with its block or before `end`.
HWY_INLINE Run run_at(const Pages& pages, int position, int end) {
  const int slot = position % pages.block_size;
  const auto block = static_cast<std::ptrdiff_t>(pages.blocks[position / pages.block_size]);
  return {block * pages.block_stride, slot, std::min(pages.block_size - slot, end - position)};
}

/// The positions of one segment that are seen. Position j has column j - start of its weights.
struct Segment {
  int start;  ///< that of the segment, a multiple of kKeySegment
  int first;  ///< position, >= start
  int end;    ///< position

  int first_column() const { return first - start; }
  int columns() const { return end - start; }
};

/// The segment in which position `first` lies, seen from that position on.
HWY_INLINE Segment segment_from(int first, int length) {
  const int start = first / kKeySegment * kKeySegment;
  return {start, first, std::min(start + kKeySegment, length)};
}

/// m and l of one head.
struct Softmax {
  float max;
  float sum;
};

/// Scores, in the columns of `segment`, become exp(score - max); the columns before become 0.
HWY_INLINE Softmax scores_to_weights(const Segment& segment, float* weights) {
  const int first = segment.first_column();
  const int count = segment.columns() - first;
  const float max = max_lanes(weights + first, count);
  std::fill_n(weights, first, 0.0f);
  exp_minus_lanes(weights + first, max, count, weights + first);
  return {max, sum_lanes(weights, segment.columns())};
}

/// Values of the positions of a sequence, one row [size] a slot.
template <class Stored>
struct Values {
  const Stored* rows;  ///< those of block 0
  int stride;          ///< numbers from a slot to the next
  int size;
  Pages pages;

  /// The components from `component` on.
  HWY_INLINE Values from(int component) const { return {rows + component, stride, size, pages}; }
};

/// out[h] = the chain over positions of weight * value, for kVectors vectors of components.
/// weights: [kHeads][kKeySegment], out: [kHeads][size].
template <int kHeads, int kVectors, class D, class Stored>
HWY_INLINE void accumulate_columns(D d, const Values<Stored>& values, const Segment& segment,
                                   const float* weights, float* out) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  hn::Vec<D> sums[kHeads][kVectors];
  for (auto& head_sums : sums) {
    for (auto& sum : head_sums) sum = hn::Zero(d);
  }
  int column = segment.first_column();
  while (column < segment.columns()) {
    const Run run = run_at(values.pages, segment.start + column, segment.end);
    const Stored* value =
        values.rows + run.block + static_cast<std::ptrdiff_t>(run.slot) * values.stride;
    for (int end = column + run.size; column < end; ++column, value += values.stride) {
      hn::Vec<D> v[kVectors];
      for (int i = 0; i < kVectors; ++i) v[i] = load(d, value + i * lanes);
      for (int h = 0; h < kHeads; ++h) {
        const auto weight = hn::Set(d, weights[h * kKeySegment + column]);
        for (int i = 0; i < kVectors; ++i) sums[h][i] = fused(weight, v[i], sums[h][i]);
      }
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < kVectors; ++i) {
      hn::StoreU(sums[h][i], d, out + h * values.size + i * lanes);
    }
  }
}

/// out [kHeads][size] = a_c: components in pieces of kVectors full vectors, then fewer, then the
/// rest.
template <int kHeads, class Stored, int kVectors = value_vectors(kHeads)>
HWY_INLINE void accumulate_values(const Values<Stored>& values, const Segment& segment,
                                  const float* weights, float* out, int component = 0) {
  constexpr int kWidth = kVectors * kFullLanes;
  for (; component + kWidth <= values.size; component += kWidth) {
    accumulate_columns<kHeads, kVectors>(FullTag(), values.from(component), segment, weights,
                                         out + component);
  }
  if (component == values.size) return;
  if constexpr (kVectors > 1) {
    accumulate_values<kHeads, Stored, kVectors / 2>(values, segment, weights, out, component);
  } else {
    for_each_vector(
        values.size,
        [&](auto d, int i) HWY_ATTR {
          accumulate_columns<kHeads, 1>(d, values.from(i), segment, weights, out + i);
        },
        component);
  }
}

/// Merges the next segment into what one head has seen so far: `total`, and its sum of values out
/// [n].
HWY_INLINE void merge(Softmax& total, float* out, const Softmax& segment, const float* part,
                      int n) {
  const float max = std::max(total.max, segment.max);
  const float old_factor = exp(total.max - max);
  const float new_factor = exp(segment.max - max);
  total = {max, fma(total.sum, old_factor, segment.sum * new_factor)};
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(d, part + i), hn::Set(d, new_factor));
    hn::StoreU(fused(hn::LoadU(d, out + i), hn::Set(d, old_factor), scaled), d, out + i);
  });
}

/// Heads that go through the context together, and what they have seen so far.
struct SegmentHeads {
  const QueryGroup& group;
  float* weights;  ///< [heads][kKeySegment]: scores, then softmax weights
  Softmax* total;  ///< [heads]
  float* out;      ///< [heads][size]: sums of values
  float* part;     ///< [4][size], for one segment's
  bool is_first;   ///< no segment is in them yet
};

/// The scores of heads [head, head + kHeads) become weights, and their sums of values are merged
/// into what these heads have seen.
template <int kHeads, class Stored>
HWY_INLINE void add_segment(const Values<Stored>& values, const Segment& segment,
                            const SegmentHeads& heads, int head) {
  float* const weights = heads.weights + head * kKeySegment;
  float* const out = heads.out + head * values.size;
  Softmax softmax[kHeads];
  for (int h = 0; h < kHeads; ++h) {
    if (heads.group.score_cap != 0) {
      soft_cap_lanes(weights + h * kKeySegment + segment.first_column(), heads.group.score_cap,
                     segment.columns() - segment.first_column());
    }
    softmax[h] = scores_to_weights(segment, weights + h * kKeySegment);
  }
  accumulate_values<kHeads>(values, segment, weights, heads.is_first ? out : heads.part);
  for (int h = 0; h < kHeads; ++h) {
    if (heads.is_first) {
      heads.total[head + h] = softmax[h];
    } else {
      const int offset = h * values.size;
      merge(heads.total[head + h], out + offset, softmax[h], heads.part + offset, values.size);
    }
  }
}

/// Calls body<kHeads>(head) for heads [0, count), four at a time, then two, then one.
template <class Body>
HWY_INLINE void for_each_heads(int count, const Body& body) {
  int head = 0;
  for (; head + 4 <= count; head += 4) body.template operator()<4>(head);
  for (; head + 2 <= count; head += 2) body.template operator()<2>(head);
  if (head < count) body.template operator()<1>(head);
}

/// out[i] = out[i] / sum.
HWY_INLINE void divide_all(float* out, float sum, int n) {
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    hn::StoreU(hn::Div(hn::LoadU(d, out + i), hn::Set(d, sum)), d, out + i);
  });
}

}  // namespace forge::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
