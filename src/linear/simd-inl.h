// What all products share on vectors, once per instruction set.
#include "forge/numerics/canonical.h"
#include "hwy/highway.h"

#if defined(FORGE_LINEAR_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORGE_LINEAR_SIMD_INL_H
#undef FORGE_LINEAR_SIMD_INL_H
#else
#define FORGE_LINEAR_SIMD_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::linear::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The widest vectors used: 16 floats, or what the target has.
using FullTag = hn::CappedTag<float, 16>;
using FullVec = hn::Vec<FullTag>;
inline constexpr int kFullLanes = static_cast<int>(hn::MaxLanes(FullTag()));

/// a * b + c with one rounding, also where the target has no such instruction.
HWY_INLINE FullVec fused(FullVec a, FullVec b, FullVec c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#else
  const FullTag d;
  HWY_ALIGN float a_lanes[kFullLanes];
  HWY_ALIGN float b_lanes[kFullLanes];
  HWY_ALIGN float c_lanes[kFullLanes];
  hn::Store(a, d, a_lanes);
  hn::Store(b, d, b_lanes);
  hn::Store(c, d, c_lanes);
  for (int i = 0; i < kFullLanes; ++i) {
    c_lanes[i] = numerics::fma(a_lanes[i], b_lanes[i], c_lanes[i]);
  }
  return hn::Load(d, c_lanes);
#endif
}

}  // namespace forge::linear::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
