// Operations on one row of activations, vectorised, with the bits of their definitions.
//
// Each function runs on the best instruction set of the machine (Google Highway picks
// it at run time) and returns exactly what its scalar definition in reference.h returns: the
// element-wise ones because each element is computed by the same operations, the
// reductions because their 32 lanes are part of the definition.
//
// Pointers need no alignment. Outputs may be the same array as an input, but must not overlap it
// shifted. Nothing allocates; everything is thread-safe. n >= 1 unless said otherwise. NaN is
// outside the contract.
#pragma once

#include "forge/numerics/canonical.h"

namespace forge::numerics {

/// y[i] = (x[i] * scale) * weight[i] with scale = rsqrt(sum_of_squares(x) / n + eps).
/// x, weight, y: [n]. Source: Zhang, Sennrich, "Root Mean Square Layer Normalization",
/// arXiv:1910.07467.
void rms_norm(const float* x, const float* weight, int n, float eps, float* y);

/// y[i] = silu(gate[i]) * up[i], the gate of SwiGLU. gate, up, y: [n].
/// Source: Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202.
void silu_multiply(const float* gate, const float* up, int n, float* y);

/// y[i] = gelu_tanh(gate[i]) * up[i], the gate of GeGLU. gate, up, y: [n].
void gelu_tanh_multiply(const float* gate, const float* up, int n, float* y);

/// y[i] = clamped_swiglu(gate[i], up[i], clamp). gate, up, y: [n].
void clamped_swiglu(const float* gate, const float* up, SwigluClamp clamp, int n, float* y);

/// x[i] = soft_cap(x[i], cap). x: [n]; cap > 0.
void soft_cap(float* x, float cap, int n);

/// x[i] = x[i] + y[i]. x, y: [n].
void add(float* x, const float* y, int n);

/// x[i] = fma(factor, y[i], x[i]). x, y: [n]. With factor 1 the bits of add.
void add_scaled(float* x, const float* y, float factor, int n);

/// x[i] = x[i] * factor. x: [n].
void scale(float* x, float factor, int n);

/// y[i] = exp(x[i] - shift). x, y: [n].
void exp_minus(const float* x, float shift, int n, float* y);

/// Largest of x [n]; a zero is +0.
float max(const float* x, int n);

/// Sum of x [n] by the fixed tree of canonical.h; n = 0 gives 0.
float sum(const float* x, int n);

/// Sum of squares of x [n] by the fixed tree; n = 0 gives 0.
float sum_of_squares(const float* x, int n);

/// Index of the largest of x [n]; among equal ones (-0 and +0 are equal) the lowest. With a NaN in
/// x, some index in [0, n).
int argmax(const float* x, int n);

/// Rotary embedding of one head [2 * half] in the "rotate half" pairing of GPT-NeoX and of Llama
/// checkpoints in Hugging Face form: pair i is (head[i], head[i + half]).
///   head[i]        = fma(head[i], cos[i], -(head[i + half] * sin[i]))
///   head[i + half] = fma(head[i + half], cos[i], head[i] * sin[i])
/// both from the old values. cos, sin: [half], from rotary.h.
void rotate_pairs(float* head, const float* cos, const float* sin, int half);

/// The same in the pairing of the RoPE paper, of GGUF's Llama and of DeepSeek: pair i is
/// (head[2 i], head[2 i + 1]).
void rotate_adjacent_pairs(float* head, const float* cos, const float* sin, int half);

}  // namespace forge::numerics
