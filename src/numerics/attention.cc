#include "forge/numerics/attention.h"

#include <algorithm>
#include <cassert>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"
#include "simd-inl.h"

// Heads of a group go through the context together, up to four at a time: they share the loads
// of keys and values, and their chains along positions, each bound by the latency of fma, overlap.
HWY_BEFORE_NAMESPACE();
namespace forge::numerics::HWY_NAMESPACE {

/// Vectors along the head that one pass over the values carries for `heads` heads.
constexpr int value_vectors(int heads) {
#if HWY_CAP_GE512 || HWY_ARCH_ARM_A64
  return 16 / heads;  // accumulators, of 32 registers
#else
  return 8 / heads;  // of 16 registers
#endif
}

/// The part of a chunk that lies in one block.
struct Run {
  std::ptrdiff_t block;  ///< offset of the block, in floats
  int slot;              ///< first slot
  int size;              ///< slots, >= 1
};

/// The run that starts at `position` and ends with its block or before `end`.
HWY_INLINE Run run_at(const PagedKV& kv, int position, int end) {
  const int slot = position % kv.block_size;
  const auto block =
      static_cast<std::ptrdiff_t>(kv.blocks[static_cast<std::size_t>(position / kv.block_size)]);
  return {block * kv.block_stride, slot, std::min(kv.block_size - slot, end - position)};
}

/// One chunk of keys, for kHeads heads: scores, then softmax weights, and their sums.
template <int kHeads>
struct Chunk {
  int first;  ///< position
  int end;    ///< position
  float max[kHeads];
  float sum[kHeads];
  HWY_ALIGN float weights[kHeads][kKeyChunk];

  int size() const { return end - first; }
};

/// chunk.weights[h][j] = (q_h . k_j) * scale.
template <int kHeads>
HWY_INLINE void compute_scores(const float* q, float scale, const PagedKV& kv,
                               Chunk<kHeads>& chunk) {
  for (int position = chunk.first; position < chunk.end;) {
    const Run run = run_at(kv, position, chunk.end);
    const float* keys = kv.keys + run.block + run.slot;
    const int column = position - chunk.first;
    for_each_vector(run.size, [&](auto d, int i) HWY_ATTR {
      hn::Vec<decltype(d)> scores[kHeads];
      for (auto& score : scores) score = hn::Zero(d);
      const float* key = keys + i;
      for (int c = 0; c < kv.head_size; ++c, key += kv.block_size) {
        const auto k = hn::LoadU(d, key);
        for (int h = 0; h < kHeads; ++h) {
          scores[h] = fused(hn::Set(d, q[h * kv.head_size + c]), k, scores[h]);
        }
      }
      for (int h = 0; h < kHeads; ++h) {
        hn::StoreU(hn::Mul(scores[h], hn::Set(d, scale)), d, chunk.weights[h] + column + i);
      }
    });
    position += run.size;
  }
}

/// Scores become exp(score - max); max and sum are set.
template <int kHeads>
HWY_INLINE void compute_weights(Chunk<kHeads>& chunk) {
  for (int h = 0; h < kHeads; ++h) {
    float* weights = chunk.weights[h];
    chunk.max[h] = max_lanes(weights, chunk.size());
    exp_minus_lanes(weights, chunk.max[h], chunk.size(), weights);
    chunk.sum[h] = sum_lanes(weights, chunk.size());
  }
}

/// out[h][component ..] = the chain over positions of weight * value, for kVectors vectors.
template <int kHeads, int kVectors, class D>
HWY_INLINE void accumulate_columns(D d, const PagedKV& kv, const Chunk<kHeads>& chunk,
                                   int component, float* out) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  hn::Vec<D> sums[kHeads][kVectors];
  for (auto& head_sums : sums) {
    for (auto& sum : head_sums) sum = hn::Zero(d);
  }
  int column = 0;
  while (column < chunk.size()) {
    const Run run = run_at(kv, chunk.first + column, chunk.end);
    const float* value =
        kv.values + run.block + static_cast<std::ptrdiff_t>(run.slot) * kv.head_size + component;
    for (int end = column + run.size; column < end; ++column, value += kv.head_size) {
      hn::Vec<D> v[kVectors];
      for (int i = 0; i < kVectors; ++i) v[i] = hn::LoadU(d, value + i * lanes);
      for (int h = 0; h < kHeads; ++h) {
        const auto weight = hn::Set(d, chunk.weights[h][column]);
        for (int i = 0; i < kVectors; ++i) sums[h][i] = fused(weight, v[i], sums[h][i]);
      }
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < kVectors; ++i) {
      hn::StoreU(sums[h][i], d, out + h * kv.head_size + component + i * lanes);
    }
  }
}

/// out [kHeads][D] = a_c: components in pieces of kVectors full vectors, then fewer, then the rest.
template <int kHeads, int kVectors = value_vectors(kHeads)>
HWY_INLINE void accumulate_values(const PagedKV& kv, const Chunk<kHeads>& chunk, float* out,
                                  int component = 0) {
  constexpr int kWidth = kVectors * kFullLanes;
  for (; component + kWidth <= kv.head_size; component += kWidth) {
    accumulate_columns<kHeads, kVectors>(FullTag(), kv, chunk, component, out);
  }
  if (component == kv.head_size) return;
  if constexpr (kVectors > 1) {
    accumulate_values<kHeads, kVectors / 2>(kv, chunk, out, component);
  } else {
    for_each_vector(
        kv.head_size,
        [&](auto d, int i) HWY_ATTR { accumulate_columns<kHeads, 1>(d, kv, chunk, i, out); },
        component);
  }
}

/// One chunk: its scores, weights and sums, and out [kHeads][D] = a_c.
template <int kHeads>
HWY_INLINE void attend_chunk(const float* q, float scale, const PagedKV& kv, Chunk<kHeads>& chunk,
                             float* out) {
  chunk.end = std::min(chunk.first + kKeyChunk, kv.length);
  compute_scores(q, scale, kv, chunk);
  compute_weights(chunk);
  accumulate_values(kv, chunk, out);
}

/// total[i] = fma(total[i], old_factor, part[i] * new_factor) over [n].
HWY_INLINE void merge(float* total, float old_factor, const float* part, float new_factor, int n) {
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(d, part + i), hn::Set(d, new_factor));
    hn::StoreU(fused(hn::LoadU(d, total + i), hn::Set(d, old_factor), scaled), d, total + i);
  });
}

/// Attention of kHeads heads. q, out: [kHeads][D].
template <int kHeads>
void attend_heads(const float* q, float scale, const PagedKV& kv, float* out) {
  Chunk<kHeads> chunk;
  chunk.first = 0;
  attend_chunk(q, scale, kv, chunk, out);
  float max[kHeads];
  float sum[kHeads];
  std::copy_n(chunk.max, kHeads, max);
  std::copy_n(chunk.sum, kHeads, sum);

  HWY_ALIGN float part[kHeads * kHeadSizeMax];
  while (chunk.end < kv.length) {
    chunk.first = chunk.end;
    attend_chunk(q, scale, kv, chunk, part);
    for (int h = 0; h < kHeads; ++h) {
      const float new_max = std::max(max[h], chunk.max[h]);
      const float old_factor = exp(max[h] - new_max);
      const float new_factor = exp(chunk.max[h] - new_max);
      max[h] = new_max;
      sum[h] = fma(sum[h], old_factor, chunk.sum[h] * new_factor);
      const int offset = h * kv.head_size;
      merge(out + offset, old_factor, part + offset, new_factor, kv.head_size);
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    float* head = out + h * kv.head_size;
    for_each_vector(kv.head_size, [&](auto d, int i) HWY_ATTR {
      hn::StoreU(hn::Div(hn::LoadU(d, head + i), hn::Set(d, sum[h])), d, head + i);
    });
  }
}

void attend_impl(const QueryGroup& group, const PagedKV& kv, float* out) {
  const float* q = group.q;
  int heads = group.heads;
  const auto run = [&]<int kHeads>() {
    for (; heads >= kHeads; heads -= kHeads) {
      attend_heads<kHeads>(q, group.scale, kv, out);
      q += kHeads * kv.head_size;
      out += kHeads * kv.head_size;
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
  assert(group.heads >= 1 && kv.length >= 1 && kv.block_size >= 1);
  assert(kv.head_size >= 1 && kv.head_size <= kHeadSizeMax);
  HWY_DYNAMIC_DISPATCH(attend_impl)(group, kv, out);
}

}  // namespace forge::numerics
#endif  // HWY_ONCE
