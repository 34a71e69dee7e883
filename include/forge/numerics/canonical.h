// The canonical fp32 tier: arithmetic whose bits are part of the specification.
//
// A floating-point result depends on the order of its additions, on whether a
// product and a sum were fused, and on which library computed exp. Two machines that
// must agree bit for bit therefore need one definition of each. This header is
// that definition, shared by the host and the CUDA compiler. It uses only what
// IEEE 754 rounds exactly (+ - * / sqrt fma) and integer operations on bits, so any
// conforming compiler at any optimisation level yields the same bits, provided it
// does not contract (-ffp-contract=off, nvcc -fmad=false), does not flush subnormals
// (nvcc -ftz=false) and never builds with fast-math. The CMake target
// forge::numerics carries the host flags to everything that links it.
//
// Contract
//   1. fma happens where fma() is written and nowhere else.
//   2. Each reduction has one order, written below; the number of rows, the tile, the
//      instruction set and the thread count do not enter.
//   3. NaN is outside the contract: targets differ in how min, max and clamps treat
//      it. Infinities are inside, where a function says what it makes of them.
//
// All functions are pure and thread-safe. Errors are in ulp of the exact result,
// over all inputs of the stated domain; tests/numerics samples them.
#pragma once

#include <cstdint>
#include <cstring>

#include "forge/numerics/host_device.h"
#include "forge/numerics/rotary.h"

namespace forge::numerics {

// ---- Exactly rounded primitives -------------------------------------------------

/// a * b + c with one rounding: always fused, on every target.
FORGE_HOST_DEVICE inline float fma(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

/// Correctly rounded square root of x >= 0.
FORGE_HOST_DEVICE inline float sqrt(float x) {
#ifdef __CUDA_ARCH__
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}

/// Correctly rounded quotient. Plain `/` already is on a host; on a device it
/// would depend on a compiler flag.
FORGE_HOST_DEVICE inline float divide(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

FORGE_HOST_DEVICE inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

FORGE_HOST_DEVICE inline float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// ---- exp, log, silu, tanh, gelu, rsqrt ------------------------------------------------------

/// The constants of exp, shared with its SIMD version. e^r is approximated on
/// |r| <= ln(2)/2 by 1 + r + r^2 (c2 + c3 r + ... + c6 r^4), a minimax polynomial.
namespace exp_constants {
inline constexpr float kMax = 0x1.62e42ep+6f;    // the largest x with exp(x) finite, 88.72
inline constexpr float kMin = -0x1.5d589ep+6f;   // the lowest x with exp(x) normal, -87.34
inline constexpr float kLog2E = 0x1.715476p+0f;  // 1 / ln(2)
inline constexpr float kLn2High = 0x1.62e4p-1f;  // ln(2) = high + low; n * high is exact
inline constexpr float kLn2Low = 0x1.7f7d1cp-20f;
inline constexpr float kRound = 0x1.8p+23f;  // adding it rounds to an integer, in the low bits
inline constexpr float kC2 = 0x1.fffffcp-2f;
inline constexpr float kC3 = 0x1.555492p-3f;
inline constexpr float kC4 = 0x1.5558f2p-5f;
inline constexpr float kC5 = 0x1.1239d6p-7f;
inline constexpr float kC6 = 0x1.6a244ap-10f;
}  // namespace exp_constants

/// e^x, error below 0.8 ulp. x > 88.72 gives +inf (the exact value overflows); x < -87.34 gives 0:
/// a result that would be subnormal is flushed by definition, so that no softmax
/// weight depends on a target's treatment of subnormals. NaN gives NaN.
///
/// x = n ln(2) + r with n the nearest integer; the power of two is then applied by an
/// integer addition to the exponent of e^r.
FORGE_HOST_DEVICE inline float exp(float x) {
  using namespace exp_constants;
  const float shifted = fma(x, kLog2E, kRound);
  const float n = shifted - kRound;
  const float r = fma(n, -kLn2Low, fma(n, -kLn2High, x));
  float p = fma(r, kC6, kC5);
  p = fma(r, p, kC4);
  p = fma(r, p, kC3);
  p = fma(r, p, kC2);
  const float head = 1.0f + r;
  const float tail = r - (head - 1.0f);  // exactly what the rounding of head lost
  p = head + fma(r * r, p, tail);
  const float y = float_of(bits_of(p) + (bits_of(shifted) << 23));
  // Not y for NaN: what the integer addition makes of one depends on the bits it has on a target.
  if (!(x <= kMax)) return x + float_of(0x7f800000u);
  return x < kMin ? 0.0f : y;
}

/// ln(x) for x >= 0, error below 0.9 ulp. log(0) = -inf, log(+inf) = +inf; subnormals are
/// taken at their value. Negative x is outside the contract.
///
/// x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); ln(1 + f) = f + f^2 p(f).
FORGE_HOST_DEVICE inline float log(float x) {
  if (x == 0.0f) return float_of(0xff800000u);
  if (bits_of(x) == 0x7f800000u) return x;
  const bool subnormal = x < 0x1p-126f;
  const std::uint32_t bits = bits_of(subnormal ? x * 0x1p+23f : x);
  const std::uint32_t from_sqrt_half = bits - 0x3f3504f3u;
  const int exponent = static_cast<std::int32_t>(from_sqrt_half) >> 23;
  const float f = float_of((from_sqrt_half & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float n = static_cast<float>(subnormal ? exponent - 23 : exponent);

  float p = fma(f, -0x1.383022p-4f, 0x1.084864p-3f);
  p = fma(f, p, -0x1.0f3766p-3f);
  p = fma(f, p, 0x1.22719cp-3f);
  p = fma(f, p, -0x1.54276ep-3f);
  p = fma(f, p, 0x1.99a3f2p-3f);
  p = fma(f, p, -0x1.000426p-2f);
  p = fma(f, p, 0x1.555550p-2f);
  p = fma(f, p, -0x1.fffff8p-2f);
  const float low = fma(f * f, p, n * exp_constants::kLn2Low);
  return fma(n, exp_constants::kLn2High, f + low);
}

/// x / (1 + e^-x), error below 2.5 ulp for x >= -87. Below about -88.7 the denominator overflows
/// and the result is -0. x = -inf is outside the contract.
FORGE_HOST_DEVICE inline float silu(float x) { return divide(x, 1.0f + exp(-x)); }

/// The constants of tanh, shared with its SIMD version. Below kSmall it is x + x z P(z), z = x^2,
/// with P a polynomial fitted to the relative error.
namespace tanh_constants {
inline constexpr float kSmall = 0.625f;
inline constexpr float kP0 = -0x1.555554p-2f;
inline constexpr float kP1 = 0x1.111066p-3f;
inline constexpr float kP2 = -0x1.b9ee90p-5f;
inline constexpr float kP3 = 0x1.638b54p-6f;
inline constexpr float kP4 = -0x1.0bf4e8p-7f;
inline constexpr float kP5 = 0x1.18e198p-9f;
}  // namespace tanh_constants

/// The hyperbolic tangent, error below 2 ulp; tanh(+-inf) = +-1. From kSmall on it is
/// 1 - 2 / (e^(2 |x|) + 1) with the sign of x.
FORGE_HOST_DEVICE inline float tanh(float x) {
  using namespace tanh_constants;
  const float z = x * x;
  float p = fma(z, kP5, kP4);
  p = fma(z, p, kP3);
  p = fma(z, p, kP2);
  p = fma(z, p, kP1);
  p = fma(z, p, kP0);
  const float small = fma(x * z, p, x);
  const float size = x < 0.0f ? -x : x;
  const float large = 1.0f - divide(2.0f, exp(size + size) + 1.0f);
  return size < kSmall ? small : x < 0.0f ? -large : large;
}

/// The constants of gelu_tanh: 2 sqrt(2 / pi), and that times 0.044715.
namespace gelu_constants {
inline constexpr float kLinear = 0x1.988454p+0f;
inline constexpr float kCubic = 0x1.2444f2p-4f;
}  // namespace gelu_constants

/// GELU in its form with tanh, x / 2 (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), as
/// x / (1 + e^(-2 u)), which is the same number and loses no digits where tanh is near -1. Error
/// below 4 ulp for |x| <= 1, and below 2^-20 |x| everywhere. x = -inf is outside the contract.
/// Source: Hendrycks, Gimpel, arXiv:1606.08415.
FORGE_HOST_DEVICE inline float gelu_tanh(float x) {
  const float twice = x * fma(x * x, gelu_constants::kCubic, gelu_constants::kLinear);
  return divide(x, 1.0f + exp(-twice));
}

/// The numbers of clamped_swiglu.
struct SwigluClamp {
  float alpha = 1;  ///< factor within the sigmoid
  float limit = 1;  ///< > 0
};

/// (u + 1) g / (1 + e^(-alpha g)) with g = min(gate, limit) and u = up within -limit .. limit:
/// SwiGLU as OpenAI's gpt-oss has it (gpt-oss model card, arXiv:2508.10925, section 2.3).
FORGE_HOST_DEVICE inline float clamped_swiglu(float gate, float up, SwigluClamp clamp) {
  const float g = gate < clamp.limit ? gate : clamp.limit;
  const float above = up > -clamp.limit ? up : -clamp.limit;
  const float u = above < clamp.limit ? above : clamp.limit;
  return divide(g, 1.0f + exp(-(clamp.alpha * g))) * (u + 1.0f);
}

/// x bent smoothly to stay within -cap .. cap: cap tanh(x / cap), cap > 0.
/// Source: Gemma Team, arXiv:2408.00118, section 2.
FORGE_HOST_DEVICE inline float soft_cap(float x, float cap) { return cap * tanh(divide(x, cap)); }

/// 1 / sqrt(x) for x > 0: two exactly rounded operations, error below 1.5 ulp. rsqrt(0) = +inf.
FORGE_HOST_DEVICE inline float rsqrt(float x) { return divide(1.0f, sqrt(x)); }

// ---- Fixed-tree reductions ------------------------------------------------------

/// The number of lanes of every reduction: the threads of a GPU warp, two AVX-512 vectors.
inline constexpr int kLanes = 32;

/// Adds kLanes partial results pairwise, at distance 16, then 8, 4, 2, 1. A warp that adds what
/// `shfl_xor` brings from these distances computes the same bits in every lane.
FORGE_HOST_DEVICE inline float tree_sum(const float lanes[kLanes]) {
  float part[kLanes];
  for (int i = 0; i < kLanes; ++i) part[i] = lanes[i];
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    for (int i = 0; i < distance; ++i) part[i] = part[i] + part[i + distance];
  }
  return part[0];
}

/// Sum of x [n]: element i goes to lane i % kLanes, each lane adds its elements to 0 in
/// ascending order, tree_sum adds the lanes. n = 0 gives 0.
FORGE_HOST_DEVICE inline float sum_reference(const float* x, int n) {
  float lanes[kLanes] = {};
  for (int i = 0; i < n; ++i) lanes[i % kLanes] = lanes[i % kLanes] + x[i];
  return tree_sum(lanes);
}

/// Sum of squares of x [n], in the order of sum_reference with one fma per element.
FORGE_HOST_DEVICE inline float sum_of_squares_reference(const float* x, int n) {
  float lanes[kLanes] = {};
  for (int i = 0; i < n; ++i) lanes[i % kLanes] = fma(x[i], x[i], lanes[i % kLanes]);
  return tree_sum(lanes);
}

/// Largest of x [n], n >= 1. Any order gives the same bits: the final addition turns a
/// -0, which compares equal to +0, into +0.
FORGE_HOST_DEVICE inline float max_reference(const float* x, int n) {
  float largest = x[0];
  for (int i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest + 0.0f;
}

// ---- Products -------------------------------------------------------------------

/// The number of terms in one segment of a product. Adding segments in order has 2.7 times less
/// rounding error than one long chain and lets a GPU compute the segments of one product in
/// parallel (split-K).
inline constexpr int kProductSegment = 256;

/// Inner product of a [n] and b [n]: ((s_0 + s_1) + s_2) + ... where s_c = fma chain from 0 over
/// k in [256 c, 256 (c + 1)), ascending. Each element of a matrix product is one of these.
FORGE_HOST_DEVICE inline float product_reference(const float* a, const float* b, int n) {
  float total = 0.0f;
  for (int first = 0; first < n; first += kProductSegment) {
    const int last = first + kProductSegment < n ? first + kProductSegment : n;
    float segment = 0.0f;
    for (int k = first; k < last; ++k) segment = fma(a[k], b[k], segment);
    total = first == 0 ? segment : total + segment;
  }
  return total;
}

}  // namespace forge::numerics
