#include "forge/numerics/latent_attention.h"

#include "forge/core/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "latent_attention.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "attention-inl.h"
#include "hwy/highway.h"

// As many heads as a vector has lanes go through the context together.
HWY_BEFORE_NAMESPACE();
namespace forge::numerics::HWY_NAMESPACE {

/// Positions whose scores are computed side by side: chains enough to hide the latency of fma.
inline constexpr int kSideBySide = 8;

/// Up to kFullLanes heads and what they have seen so far.
struct LatentHeads {
  int count;
  Softmax total[kFullLanes];
  HWY_ALIGN float q[kLatentSizeMax * kFullLanes];     ///< [R + S][kFullLanes], missing heads are 0
  HWY_ALIGN float weights[kFullLanes * kKeySegment];  ///< [heads][kKeySegment]
};

HWY_INLINE Pages pages_of(const PagedLatent& latent) {
  return {latent.blocks.data(), latent.block_stride, latent.block_size};
}

HWY_INLINE void transpose_queries(const float* q, int key_size, LatentHeads& heads) {
  std::fill_n(heads.q, key_size * kFullLanes, 0.0f);
  for (int h = 0; h < heads.count; ++h) {
    for (int c = 0; c < key_size; ++c) heads.q[c * kFullLanes + h] = q[h * key_size + c];
  }
}

/// weights[h][column ..] = (q_h . c_j) * scale for kCount consecutive rows.
template <int kCount>
HWY_INLINE void score_rows(const float* rows, int key_size, float scale, LatentHeads& heads,
                           int column) {
  const FullTag d;
  hn::Vec<FullTag> scores[kCount];
  for (auto& score : scores) score = hn::Zero(d);
  for (int c = 0; c < key_size; ++c) {
    const auto q = hn::Load(d, heads.q + c * kFullLanes);
    for (int j = 0; j < kCount; ++j) {
      scores[j] = fused(q, hn::Set(d, rows[j * key_size + c]), scores[j]);
    }
  }
  for (int j = 0; j < kCount; ++j) {
    HWY_ALIGN float lanes[kFullLanes];
    hn::Store(hn::Mul(scores[j], hn::Set(d, scale)), d, lanes);
    for (int h = 0; h < heads.count; ++h) heads.weights[h * kKeySegment + column + j] = lanes[h];
  }
}

HWY_INLINE void compute_scores(const PagedLatent& latent, float scale, const Segment& segment,
                               LatentHeads& heads) {
  for (int position = segment.first; position < segment.end;) {
    const Run run = run_at(pages_of(latent), position, segment.end);
    const float* rows =
        latent.rows + run.block + static_cast<std::ptrdiff_t>(run.slot) * latent.key_size;
    const int column = position - segment.start;
    int i = 0;
    for (; i + kSideBySide <= run.size; i += kSideBySide) {
      score_rows<kSideBySide>(rows + i * latent.key_size, latent.key_size, scale, heads,
                              column + i);
    }
    for (; i < run.size; ++i) {
      score_rows<1>(rows + i * latent.key_size, latent.key_size, scale, heads, column + i);
    }
    position += run.size;
  }
}

/// Sums of latents of heads [head, head + kHeads), merged into out [heads][R] unless the segment is
/// the first.
template <int kHeads>
HWY_INLINE void add_segment(const PagedLatent& latent, const Segment& segment, LatentHeads& heads,
                            int head, float* out) {
  const Values values = {latent.rows, latent.key_size, latent.value_size, pages_of(latent)};
  const bool is_first = segment.start == 0;
  HWY_ALIGN float part[kHeads * kLatentSizeMax];
  Softmax softmax[kHeads];
  for (int h = 0; h < kHeads; ++h) {
    softmax[h] = scores_to_weights(segment, heads.weights + (head + h) * kKeySegment);
  }
  float* target = out + head * latent.value_size;
  accumulate_values<kHeads>(values, segment, heads.weights + head * kKeySegment,
                            is_first ? target : part);
  for (int h = 0; h < kHeads; ++h) {
    if (is_first) {
      heads.total[head + h] = softmax[h];
    } else {
      const int offset = h * latent.value_size;
      merge(heads.total[head + h], target + offset, softmax[h], part + offset, latent.value_size);
    }
  }
}

/// q [count][R + S], out [count][R].
void attend_latent_heads(const float* q, int count, float scale, const PagedLatent& latent,
                         float* out) {
  LatentHeads heads;
  heads.count = count;
  transpose_queries(q, latent.key_size, heads);
  for (int first = 0; first < latent.length; first += kKeySegment) {
    const Segment segment = segment_from(first, latent.length);
    compute_scores(latent, scale, segment, heads);
    int head = 0;
    for (; head + 4 <= count; head += 4) add_segment<4>(latent, segment, heads, head, out);
    for (; head < count; ++head) add_segment<1>(latent, segment, heads, head, out);
  }
  for (int h = 0; h < count; ++h) {
    divide_all(out + h * latent.value_size, heads.total[h].sum, latent.value_size);
  }
}

void attend_latent_impl(const QueryGroup& group, const PagedLatent& latent, float* out) {
  for (int head = 0; head < group.heads; head += kFullLanes) {
    attend_latent_heads(group.q + head * latent.key_size, std::min(kFullLanes, group.heads - head),
                        group.scale, latent, out + head * latent.value_size);
  }
}

}  // namespace forge::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forge::numerics {

HWY_EXPORT(attend_latent_impl);

void attend_latent(const QueryGroup& group, const PagedLatent& latent, float* out) {
  FORGE_CHECK(group.heads >= 1, "heads=", group.heads);
  FORGE_CHECK(latent.length >= 1, "length=", latent.length);
  FORGE_CHECK(latent.block_size >= 1, "block_size=", latent.block_size);
  FORGE_CHECK(latent.key_size >= 1 && latent.key_size <= kLatentSizeMax,
              "key_size=", latent.key_size);
  FORGE_CHECK(latent.value_size >= 1 && latent.value_size <= latent.key_size,
              "value_size=", latent.value_size, " key_size=", latent.key_size);
  HWY_DYNAMIC_DISPATCH(attend_latent_impl)(group, latent, out);
}

}  // namespace forge::numerics
#endif  // HWY_ONCE
