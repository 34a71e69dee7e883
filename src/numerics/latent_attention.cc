#include "forge/numerics/latent_attention.h"

#include "forge/core/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "latent_attention.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "attention-inl.h"
#include "hwy/highway.h"

// As many heads as a vector has lanes go through the context together. Rows of 16 bits are widened
// for all of them, a few at a time.
HWY_BEFORE_NAMESPACE();
namespace forge::numerics::HWY_NAMESPACE {

/// Positions whose scores are computed side by side: chains enough to hide the latency of fma.
inline constexpr int kSideBySide = 8;

/// Up to kFullLanes heads and what they have seen so far.
struct LatentHeads {
  int count;
  Softmax total[kFullLanes];
  HWY_ALIGN float widened[kSideBySide * kLatentSizeMax];  ///< [kSideBySide][R + S], of 16 bits
  HWY_ALIGN float q[kLatentSizeMax * kFullLanes];     ///< [R + S][kFullLanes], missing heads are 0
  HWY_ALIGN float weights[kFullLanes * kKeySegment];  ///< [heads][kKeySegment]
  HWY_ALIGN float part[4 * kLatentSizeMax];           ///< SegmentHeads::part
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

/// `count` numbers as floats: in `room`, or where they are.
HWY_INLINE const float* as_floats(const float* numbers, int /*count*/, float* /*room*/) {
  return numbers;
}
template <class Stored>
HWY_INLINE const float* as_floats(const Stored* numbers, int count, float* room) {
  for_each_vector(count,
                  [&](auto d, int i) HWY_ATTR { hn::StoreU(load(d, numbers + i), d, room + i); });
  return room;
}

template <class Stored>
HWY_INLINE void compute_scores(const PagedLatent& latent, float scale, const Segment& segment,
                               LatentHeads& heads) {
  const int size = latent.key_size;
  for (int position = segment.first; position < segment.end;) {
    const Run run = run_at(pages_of(latent), position, segment.end);
    const Stored* rows = static_cast<const Stored*>(latent.rows) + run.block +
                         static_cast<std::ptrdiff_t>(run.slot) * size;
    const int column = position - segment.start;
    int i = 0;
    for (; i + kSideBySide <= run.size; i += kSideBySide) {
      const float* floats = as_floats(rows + i * size, kSideBySide * size, heads.widened);
      score_rows<kSideBySide>(floats, size, scale, heads, column + i);
    }
    for (; i < run.size; ++i) {
      const float* floats = as_floats(rows + i * size, size, heads.widened);
      score_rows<1>(floats, size, scale, heads, column + i);
    }
    position += run.size;
  }
}

/// group.q [count][R + S], out [count][R]. Up to kFullLanes heads.
template <class Stored>
void attend_latent_heads(const QueryGroup& group, const PagedLatent& latent, float* out) {
  const int R = latent.value_size;
  LatentHeads heads;
  heads.count = group.heads;
  transpose_queries(group.q, latent.key_size, heads);
  const Values<Stored> values{static_cast<const Stored*>(latent.rows), latent.key_size, R,
                              pages_of(latent)};
  SegmentHeads seen{group, heads.weights, heads.total, out, heads.part, true};
  for (int first = 0; first < latent.length; first += kKeySegment) {
    const Segment segment = segment_from(first, latent.length);
    compute_scores<Stored>(latent, group.scale, segment, heads);
    for_each_heads(group.heads, [&]<int kHeads>(int head)
                                    HWY_ATTR { add_segment<kHeads>(values, segment, seen, head); });
    seen.is_first = false;
  }
  for (int h = 0; h < group.heads; ++h) divide_all(out + h * R, heads.total[h].sum, R);
}

template <class Stored>
void attend_latent_stored(const QueryGroup& group, const PagedLatent& latent, float* out) {
  for (int head = 0; head < group.heads; head += kFullLanes) {
    const QueryGroup some{group.q + head * latent.key_size,
                          std::min(kFullLanes, group.heads - head), group.scale};
    attend_latent_heads<Stored>(some, latent, out + head * latent.value_size);
  }
}

void attend_latent_impl(const QueryGroup& group, const PagedLatent& latent, float* out) {
  switch (latent.type) {
    case KvType::f32:
      return attend_latent_stored<float>(group, latent, out);
    case KvType::bf16:
      return attend_latent_stored<BF16>(group, latent, out);
    case KvType::f16:
      return attend_latent_stored<F16>(group, latent, out);
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
