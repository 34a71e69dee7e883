// span_attention: the attention of fast numerics: tensor-core steps over tiles of keys, an online
// softmax in base 2, and spans of fixed positions that are merged in order.
//
// Legend as attention.h. H is the type of 16 bits that the KV cache keeps (kv_type.h); q is rounded
// to it. A span is 256 positions from a multiple of 256, a tile 64 from a multiple of 64: absolute
// positions, so that neither the block size nor where a prompt is cut moves a key to another tile.
//
//   For each span that has a position in F .. T-1:   m = lowest float, l = 0, a = 0
//     For each of its tiles that has one, ascending:
//       s_j  = tensor_product(q, k_j)                 over D, of each position j that is seen
//       s_j  = s_j (scale log2(e))                    or, with a soft cap,
//              soft_cap(s_j scale, score_cap) log2(e)
//       m'   = max(m, s_j)
//       p_j  = half_of(exp2(s_j - m'))                0 where j is not seen
//       l    = l exp2(m - m'), a[d] = a[d] exp2(m - m'), m = m'
//       l    = l   + p_j          four steps of 16 keys, ascending (matrix_step.h), whose other
//       a[d] = a[d] + p_j v_j[d]  factor is 1, or the value
//     The span is merged:   M' = max(M, m), E = exp2(M - M'), e = exp2(m - M'),
//                           L = fma(L, E, l e), A[d] = fma(A[d], E, a[d] e), M = M'
//                           beginning with M = lowest float, L = 0, A = 0
//   A head with a sink s merges it last: m = s log2(e), l = 1, a = 0.
//   out[d] = A[d] / L
//
// m' and out[d] are +0 where they are 0: 0 is added to them.
//
// Why the launch does not enter. A row takes part in a tile that it does not see, because others of
// its launch do, with p = 0: m stays, the factor is exp2(0) = 1, and steps of zeros change nothing.
// Likewise a span that it does not see has m lowest and l = 0, and merging it multiplies by 1 and
// adds 0. So any rows can go through keys together, spans can be computed by different blocks,
// and keys that are not there can be zeros.
//
// The denominator adds the same rounded p as the numerator, so that equal values come out as they
// are. Error against the exact softmax of the same q, k, v: of a weight 2^-8 (bf16) or 2^-11 (f16)
// for the rounding of p, and that of its score, absolute, times ln 2.
//
// Sources: as attention.h; exp2 by polynomial: Shah et al., FlashAttention-3, arXiv:2407.08608, and
// its successor's software exponential.
//
// Thread-safe.
#pragma once

#include <limits>
#include <vector>

#include "forge/numerics/attention.h"
#include "forge/numerics/exp2.h"
#include "forge/numerics/latent_attention.h"
#include "forge/numerics/matrix_step.h"

namespace forge::numerics {

/// Positions of a span and of a tile.
inline constexpr int kSpan = 256;
inline constexpr int kSpanTile = 64;

inline constexpr float kLog2E = 0x1.715476p+0f;

/// m before the first score.
inline constexpr float kLowestScore = -std::numeric_limits<float>::max();

/// What merging a span, or a sink, multiplies by.
struct SpanFactors {
  float m;       ///< M'
  float before;  ///< E
  float added;   ///< e

  /// L or A[d] from what it was and l or a[d] of the span.
  FORGE_HOST_DEVICE float merged(float sum, float of_span) const {
    return fma(sum, before, of_span * added);
  }
};
FORGE_HOST_DEVICE inline SpanFactors span_factors(float before, float added) {
  const float m = added > before ? added : before;
  return {m, exp2(before - m), exp2(added - m)};
}

/// M, L and one component of A; or m, l and a component of a.
struct SpanSum {
  float m = kLowestScore;
  float l = 0;
  float a = 0;

  FORGE_HOST_DEVICE SpanSum merged(const SpanSum& span) const {
    const SpanFactors factors = span_factors(m, span.m);
    return {factors.m, factors.merged(l, span.l), factors.merged(a, span.a)};
  }
};

/// A component of out. The sign of a zero would depend on whether a span was merged that the row
/// does not see.
FORGE_HOST_DEVICE inline float span_result(float a, float l) { return divide(a, l) + 0.0f; }

/// A score of the definition from the product of q and k. `scale_log2` is scale * kLog2E.
FORGE_HOST_DEVICE inline float span_score(float product, float scale, float scale_log2, float cap) {
  if (cap > 0) return soft_cap(product * scale, cap) * kLog2E;
  return product * scale_log2;
}

/// m, l and a of one query head over one span.
struct AttentionSpan {
  float m = kLowestScore;
  float l = 0;
  std::vector<float> a = {};  ///< [D]
};

/// Span `index` of the definition, of a group of one head. Requires: the span has a position that
/// is seen; kv.type is bf16 or f16.
AttentionSpan span_reference(const StepModel& model, const QueryGroup& head, const PagedKV& kv,
                             int index);

/// out [heads][D] = attention of each head of `group`, as plain loops. Requires: kv.type is bf16 or
/// f16.
void span_attention_reference(const StepModel& model, const QueryGroup& group, const PagedKV& kv,
                              float* out);

// Over latents (latent_attention.h), which are keys, and whose first components are values.

AttentionSpan span_reference(const StepModel& model, const QueryGroup& head,
                             const PagedLatent& latent, int index);
void span_attention_reference(const StepModel& model, const QueryGroup& group,
                              const PagedLatent& latent, float* out);

}  // namespace forge::numerics
