#include "forge/numerics/vector_ops.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vector_ops.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"
#include "simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace forge::numerics::HWY_NAMESPACE {

void rms_norm_impl(const float* x, const float* weight, int n, float eps, float* y) {
  const float mean = divide(sum_of_squares_lanes(x, n), static_cast<float>(n));
  const float scale = rsqrt(mean + eps);
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, scale));
    hn::StoreU(hn::Mul(scaled, hn::LoadU(d, weight + i)), d, y + i);
  });
}

void silu_multiply_impl(const float* gate, const float* up, int n, float* y) {
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    const auto activated = silu_lanes(d, hn::LoadU(d, gate + i));
    hn::StoreU(hn::Mul(activated, hn::LoadU(d, up + i)), d, y + i);
  });
}

void gelu_tanh_multiply_impl(const float* gate, const float* up, int n, float* y) {
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    const auto activated = gelu_tanh_lanes(d, hn::LoadU(d, gate + i));
    hn::StoreU(hn::Mul(activated, hn::LoadU(d, up + i)), d, y + i);
  });
}

void clamped_swiglu_impl(const float* gate, const float* up, SwigluClamp clamp, int n, float* y) {
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    const auto both = clamped_swiglu_lanes(d, hn::LoadU(d, gate + i), hn::LoadU(d, up + i), clamp);
    hn::StoreU(both, d, y + i);
  });
}

void soft_cap_impl(float* x, float cap, int n) { soft_cap_lanes(x, cap, n); }

void add_impl(float* x, const float* y, int n) {
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, x + i);
  });
}

void add_scaled_impl(float* x, const float* y, float factor, int n) {
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    hn::StoreU(fused(hn::Set(d, factor), hn::LoadU(d, y + i), hn::LoadU(d, x + i)), d, x + i);
  });
}

void scale_impl(float* x, float factor, int n) {
  for_each_vector(n, [&](auto d, int i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, x + i);
  });
}

void exp_minus_impl(const float* x, float shift, int n, float* y) {
  exp_minus_lanes(x, shift, n, y);
}

float max_impl(const float* x, int n) { return max_lanes(x, n); }

float sum_impl(const float* x, int n) { return sum_lanes(x, n); }

float sum_of_squares_impl(const float* x, int n) { return sum_of_squares_lanes(x, n); }

int argmax_impl(const float* x, int n) {
  const FullTag d;
  const float largest = max_lanes(x, n);
  int i = 0;
  for (; i + kFullLanes <= n; i += kFullLanes) {
    const auto found = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, x + i), hn::Set(d, largest)));
    if (found >= 0) return i + static_cast<int>(found);
  }
  while (i < n && x[i] != largest) ++i;
  return std::min(i, n - 1);  // inside x even if a NaN broke the contract
}

void rotate_pairs_impl(float* head, const float* cos, const float* sin, int half) {
  for_each_vector(half, [&](auto d, int i) HWY_ATTR {
    const auto first = hn::LoadU(d, head + i);
    const auto second = hn::LoadU(d, head + half + i);
    const auto c = hn::LoadU(d, cos + i);
    const auto s = hn::LoadU(d, sin + i);
    hn::StoreU(fused(first, c, hn::Neg(hn::Mul(second, s))), d, head + i);
    hn::StoreU(fused(second, c, hn::Mul(first, s)), d, head + half + i);
  });
}

void rotate_adjacent_pairs_impl(float* head, const float* cos, const float* sin, int half) {
  for_each_vector(half, [&](auto d, int i) HWY_ATTR {
    hn::Vec<decltype(d)> first;
    hn::Vec<decltype(d)> second;
    hn::LoadInterleaved2(d, head + 2 * i, first, second);
    const auto c = hn::LoadU(d, cos + i);
    const auto s = hn::LoadU(d, sin + i);
    hn::StoreInterleaved2(fused(first, c, hn::Neg(hn::Mul(second, s))),
                          fused(second, c, hn::Mul(first, s)), d, head + 2 * i);
  });
}

}  // namespace forge::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace forge::numerics {

HWY_EXPORT(rms_norm_impl);
HWY_EXPORT(silu_multiply_impl);
HWY_EXPORT(gelu_tanh_multiply_impl);
HWY_EXPORT(clamped_swiglu_impl);
HWY_EXPORT(soft_cap_impl);
HWY_EXPORT(add_impl);
HWY_EXPORT(add_scaled_impl);
HWY_EXPORT(scale_impl);
HWY_EXPORT(exp_minus_impl);
HWY_EXPORT(max_impl);
HWY_EXPORT(sum_impl);
HWY_EXPORT(sum_of_squares_impl);
HWY_EXPORT(argmax_impl);
HWY_EXPORT(rotate_pairs_impl);
HWY_EXPORT(rotate_adjacent_pairs_impl);

void rms_norm(const float* x, const float* weight, int n, float eps, float* y) {
  HWY_DYNAMIC_DISPATCH(rms_norm_impl)(x, weight, n, eps, y);
}

void silu_multiply(const float* gate, const float* up, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(silu_multiply_impl)(gate, up, n, y);
}

void gelu_tanh_multiply(const float* gate, const float* up, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(gelu_tanh_multiply_impl)(gate, up, n, y);
}

void clamped_swiglu(const float* gate, const float* up, SwigluClamp clamp, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(clamped_swiglu_impl)(gate, up, clamp, n, y);
}

void soft_cap(float* x, float cap, int n) { HWY_DYNAMIC_DISPATCH(soft_cap_impl)(x, cap, n); }

void add(float* x, const float* y, int n) { HWY_DYNAMIC_DISPATCH(add_impl)(x, y, n); }

void add_scaled(float* x, const float* y, float factor, int n) {
  HWY_DYNAMIC_DISPATCH(add_scaled_impl)(x, y, factor, n);
}

void scale(float* x, float factor, int n) { HWY_DYNAMIC_DISPATCH(scale_impl)(x, factor, n); }

void exp_minus(const float* x, float shift, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(exp_minus_impl)(x, shift, n, y);
}

float max(const float* x, int n) { return HWY_DYNAMIC_DISPATCH(max_impl)(x, n); }

float sum(const float* x, int n) { return HWY_DYNAMIC_DISPATCH(sum_impl)(x, n); }

float sum_of_squares(const float* x, int n) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_impl)(x, n);
}

int argmax(const float* x, int n) { return HWY_DYNAMIC_DISPATCH(argmax_impl)(x, n); }

void rotate_pairs(float* head, const float* cos, const float* sin, int half) {
  HWY_DYNAMIC_DISPATCH(rotate_pairs_impl)(head, cos, sin, half);
}

void rotate_adjacent_pairs(float* head, const float* cos, const float* sin, int half) {
  HWY_DYNAMIC_DISPATCH(rotate_adjacent_pairs_impl)(head, cos, sin, half);
}

}  // namespace forge::numerics
#endif  // HWY_ONCE
