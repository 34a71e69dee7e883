// The canonical operations on SIMD vectors, compiled once per instruction set.
//
// A lane computes exactly what the scalar function of canonical.h computes. Vectors have at
// most 16 lanes, so two to eight of them hold the 32 lanes of a reduction.
#include "forge/numerics/canonical.h"
#include "hwy/highway.h"

#if defined(FORGE_NUMERICS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORGE_NUMERICS_SIMD_INL_H
#undef FORGE_NUMERICS_SIMD_INL_H
#else
#define FORGE_NUMERICS_SIMD_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::numerics::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The widest vectors used: 16 floats, or what the target has.
using FullTag = hn::CappedTag<float, 16>;
inline constexpr int kFullLanes = static_cast<int>(hn::MaxLanes(FullTag()));

/// Vectors that hold the kLanes partial results of a reduction.
inline constexpr int kTreeVectors = kLanes / kFullLanes;

/// a * b + c with one rounding. Highway's MulAdd rounds twice where the target has no
/// such instruction; there, lanes go through the scalar fma.
template <class V>
HWY_INLINE V fused(V a, V b, V c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#else
  const hn::DFromV<V> d;
  HWY_ALIGN float a_lanes[kFullLanes];
  HWY_ALIGN float b_lanes[kFullLanes];
  HWY_ALIGN float c_lanes[kFullLanes];
  hn::Store(a, d, a_lanes);
  hn::Store(b, d, b_lanes);
  hn::Store(c, d, c_lanes);
  for (int i = 0; i < static_cast<int>(hn::Lanes(d)); ++i) {
    c_lanes[i] = fma(a_lanes[i], b_lanes[i], c_lanes[i]);
  }
  return hn::Load(d, c_lanes);
#endif
}

/// Calls body(tag, i) for consecutive pieces [i, i + Lanes(tag)) of [0, n): as many full vectors
/// as fit, then halves, quarters, single lanes. Nothing outside [0, n) is touched.
template <int kLanesNow = kFullLanes, class Body>
HWY_INLINE void for_each_vector(int n, const Body& body, int first = 0) {
  const hn::CappedTag<float, kLanesNow> d;
  int i = first;
  for (; i + kLanesNow <= n; i += kLanesNow) body(d, i);
  if constexpr (kLanesNow > 1) {
    if (i < n) for_each_vector<(kLanesNow > 4 ? kLanesNow / 2 : 1)>(n, body, i);
  }
}

/// exp of each lane, see exp in canonical.h.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_lanes(D d, V x) {
  namespace c = exp_constants;
  const hn::RebindToUnsigned<D> du;
  const V shifted = fused(x, hn::Set(d, c::kLog2E), hn::Set(d, c::kRound));
  const V n = hn::Sub(shifted, hn::Set(d, c::kRound));
  const V r = fused(n, hn::Set(d, -c::kLn2Low), fused(n, hn::Set(d, -c::kLn2High), x));
  V p = fused(r, hn::Set(d, c::kC6), hn::Set(d, c::kC5));
  p = fused(r, p, hn::Set(d, c::kC4));
  p = fused(r, p, hn::Set(d, c::kC3));
  p = fused(r, p, hn::Set(d, c::kC2));
  const V head = hn::Add(hn::Set(d, 1.0f), r);
  const V tail = hn::Sub(r, hn::Sub(head, hn::Set(d, 1.0f)));
  p = hn::Add(head, fused(hn::Mul(r, r), p, tail));
  const V y =
      hn::BitCast(d, hn::Add(hn::BitCast(du, p), hn::ShiftLeft<23>(hn::BitCast(du, shifted))));
  const V infinity = hn::BitCast(d, hn::Set(du, 0x7f800000u));
  const V not_below = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, c::kMin)), y);
  return hn::IfThenElse(hn::Le(x, hn::Set(d, c::kMax)), not_below, hn::Add(x, infinity));
}

/// x / (1 + exp(-x)) of each lane, see silu in canonical.h.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu_lanes(D d, V x) {
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), exp_lanes(d, hn::Neg(x))));
}

/// The hyperbolic tangent of each lane, see tanh in canonical.h.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh_lanes(D d, V x) {
  namespace c = tanh_constants;
  const V one = hn::Set(d, 1.0f);
  const V z = hn::Mul(x, x);
  V p = fused(z, hn::Set(d, c::kP5), hn::Set(d, c::kP4));
  p = fused(z, p, hn::Set(d, c::kP3));
  p = fused(z, p, hn::Set(d, c::kP2));
  p = fused(z, p, hn::Set(d, c::kP1));
  p = fused(z, p, hn::Set(d, c::kP0));
  const V small = fused(hn::Mul(x, z), p, x);
  const V size = hn::Abs(x);
  const V power = exp_lanes(d, hn::Add(size, size));
  const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(power, one)));
  const V signed_large = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(large), large);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, c::kSmall)), small, signed_large);
}

/// See gelu_tanh in canonical.h.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_tanh_lanes(D d, V x) {
  namespace c = gelu_constants;
  const V slope = fused(hn::Mul(x, x), hn::Set(d, c::kCubic), hn::Set(d, c::kLinear));
  const V power = exp_lanes(d, hn::Neg(hn::Mul(x, slope)));
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), power));
}

/// See clamped_swiglu in canonical.h.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V clamped_swiglu_lanes(D d, V gate, V up, SwigluClamp clamp) {
  const V one = hn::Set(d, 1.0f);
  const V limit = hn::Set(d, clamp.limit);
  const V g = hn::Min(gate, limit);
  const V u = hn::Min(hn::Max(up, hn::Neg(limit)), limit);
  const V power = exp_lanes(d, hn::Neg(hn::Mul(hn::Set(d, clamp.alpha), g)));
  return hn::Mul(hn::Div(g, hn::Add(one, power)), hn::Add(u, one));
}

/// x[i] = soft_cap(x[i], cap), see canonical.h.
HWY_INLINE void soft_cap_lanes(float* x, float cap, int n) {
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    const auto bent = tanh_lanes(d, hn::Div(hn::LoadU(d, x + i), hn::Set(d, cap)));
    hn::StoreU(hn::Mul(hn::Set(d, cap), bent), d, x + i);
  });
}

/// Adds the lanes of v pairwise at falling distance, as tree_sum does.
template <class D>
HWY_INLINE float add_tree([[maybe_unused]] D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR  // which has one lane, and no UpperHalf
  if constexpr (hn::MaxLanes(d) > 1) {
    const hn::Half<D> half;
    return add_tree(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}

/// Feeds x [n] to the kLanes lanes of a reduction, lane = step(lane, element), and adds them by
/// the tree. step must leave a lane alone when the element is 0: missing elements are read as 0.
template <class Step>
HWY_INLINE float reduce_tree(const float* x, int n, const Step& step) {
  const FullTag d;
  hn::Vec<FullTag> lanes[kTreeVectors];
  for (auto& lane : lanes) lane = hn::Zero(d);
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int v = 0; v < kTreeVectors; ++v) {
      lanes[v] = step(lanes[v], hn::LoadU(d, x + i + v * kFullLanes));
    }
  }
  if (i < n) {
    HWY_ALIGN float buffer[kLanes] = {};
    std::memcpy(buffer, x + i, sizeof(float) * static_cast<std::size_t>(n - i));
    for (int v = 0; v < kTreeVectors; ++v) {
      lanes[v] = step(lanes[v], hn::Load(d, buffer + v * kFullLanes));
    }
  }
  for (int distance = kTreeVectors / 2; distance > 0; distance /= 2) {
    for (int v = 0; v < distance; ++v) lanes[v] = hn::Add(lanes[v], lanes[v + distance]);
  }
  return add_tree(d, lanes[0]);
}

HWY_INLINE float sum_lanes(const float* x, int n) {
  return reduce_tree(x, n, [](auto lane, auto element) HWY_ATTR { return hn::Add(lane, element); });
}

HWY_INLINE float sum_of_squares_lanes(const float* x, int n) {
  return reduce_tree(
      x, n, [](auto lane, auto element) HWY_ATTR { return fused(element, element, lane); });
}

/// Largest of x [n], n >= 1, never -0.
HWY_INLINE float max_lanes(const float* x, int n) {
  const FullTag d;
  if (n < kFullLanes) return max_reference(x, n);
  auto largest = hn::LoadU(d, x);
  for (int i = kFullLanes; i + kFullLanes <= n; i += kFullLanes) {
    largest = hn::Max(largest, hn::LoadU(d, x + i));
  }
  largest = hn::Max(largest, hn::LoadU(d, x + n - kFullLanes));
  HWY_ALIGN float lanes[kFullLanes];  // MaxOfLanes of the portable target knows no -infinity
  hn::Store(largest, d, lanes);
  return max_reference(lanes, kFullLanes);
}

/// y[i] = exp(x[i] - shift).
HWY_INLINE void exp_minus_lanes(const float* x, float shift, int n, float* y) {
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    hn::StoreU(exp_lanes(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift))), d, y + i);
  });
}

}  // namespace forge::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
