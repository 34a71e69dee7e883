// The scalar definitions of vector_ops.h: plain loops over canonical.h.
//
// A vectorised function is right when it returns these bits. Use them to read and to test.
#pragma once

#include "forge/numerics/canonical.h"

namespace forge::numerics {

inline void rms_norm_reference(const float* x, const float* weight, int n, float eps, float* y) {
  const float mean = divide(sum_of_squares_reference(x, n), static_cast<float>(n));
  const float scale = rsqrt(mean + eps);
  for (int i = 0; i < n; ++i) y[i] = (x[i] * scale) * weight[i];
}

inline void silu_multiply_reference(const float* gate, const float* up, int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = silu(gate[i]) * up[i];
}

inline void gelu_tanh_multiply_reference(const float* gate, const float* up, int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = gelu_tanh(gate[i]) * up[i];
}

inline void clamped_swiglu_reference(const float* gate, const float* up, SwigluClamp clamp, int n,
                                     float* y) {
  for (int i = 0; i < n; ++i) y[i] = clamped_swiglu(gate[i], up[i], clamp);
}

inline void soft_cap_reference(float* x, float cap, int n) {
  for (int i = 0; i < n; ++i) x[i] = soft_cap(x[i], cap);
}

inline void add_reference(float* x, const float* y, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] + y[i];
}

inline void add_scaled_reference(float* x, const float* y, float factor, int n) {
  for (int i = 0; i < n; ++i) x[i] = fma(factor, y[i], x[i]);
}

inline void scale_reference(float* x, float factor, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] * factor;
}

inline void exp_minus_reference(const float* x, float shift, int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = exp(x[i] - shift);
}

inline int argmax_reference(const float* x, int n) {
  int best = 0;
  for (int i = 1; i < n; ++i) best = x[i] > x[best] ? i : best;
  return best;
}

inline void rotate_pairs_reference(float* head, const float* cos, const float* sin, int half) {
  for (int i = 0; i < half; ++i) {
    const float first = head[i];
    const float second = head[i + half];
    head[i] = fma(first, cos[i], -(second * sin[i]));
    head[i + half] = fma(second, cos[i], first * sin[i]);
  }
}

inline void rotate_adjacent_pairs_reference(float* head, const float* cos, const float* sin,
                                            int half) {
  for (int i = 0; i < half; ++i) {
    const float first = head[2 * i];
    const float second = head[2 * i + 1];
    head[2 * i] = fma(first, cos[i], -(second * sin[i]));
    head[2 * i + 1] = fma(second, cos[i], first * sin[i]);
  }
}

}  // namespace forge::numerics
