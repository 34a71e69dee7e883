// Attention of the query heads of one token over the paged KV cache, in one fixed order.
//
// This is online softmax: the context is read once, in segments, and the softmax is
// renormalized when a segment brings a larger score. Production kernels choose the segment by
// batch, block size or number of SMs, and their bits change with it. Here a segment is
// always 256 keys counted from position 0, whatever the block size, so decoding a token
// alone, in a batch, in a chunk of the prompt or in a recompute gives the same bits.
//
// Legend: D head size, T context length (positions 0 .. T-1), F first position seen (0 but for
// sliding windows), q [D] one query head, k_j, v_j [D] key and value of position j, as they are
// stored (kv_type.h). Operations as in canonical.h.
//
//   score_j = (fma chain over d, ascending, from 0, of q[d] * k_j[d]) * scale
//   score_j = soft_cap(score_j, score_cap), where there is a cap
//   For each segment c of 256 positions that has any in F .. T-1, these being j:
//     m_c    = max of score_j
//     p_j    = exp(score_j - m_c)
//     l_c    = tree sum of p_j, lane = (j within the segment) % 32
//     a_c[d] = fma chain over j, ascending, from 0, of p_j * v_j[d]
//   The first segment is taken as is: m = m_c, l = l_c, a = a_c. Then, in ascending order,
//     m' = max(m, m_c), e = exp(m - m'), f = exp(m_c - m')
//     l = fma(l, e, l_c * f), a[d] = fma(a[d], e, a_c[d] * f), m = m'
//   A head with a sink s, a score that has no value, takes it as the last segment: the same merge
//   with m_c = s, l_c = 1 and a_c = 0.
//   out[d] = a[d] / l
//
// Segments are independent until the merge, which is how a GPU splits one long context over
// several blocks ("split-K", flash decoding) without changing a bit.
// Sources: Milakov, Gimelshein, arXiv:1805.02867 (online softmax); Dao et al.,
// arXiv:2205.14135 (FlashAttention); Kwon et al., arXiv:2309.06180 (paged KV); Xiao et al.,
// arXiv:2309.17453 (sinks).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "forge/numerics/kv_type.h"

namespace forge::numerics {

/// The number of keys in one segment of the softmax.
inline constexpr int kKeySegment = 256;

/// Largest head size that `attend` accepts.
inline constexpr int kHeadSizeMax = 256;

/// What one KV head of one layer has cached for one sequence. Borrows everything.
///
/// A block keeps, for each (layer, KV head), block_size slots; begin is block * block_stride:
///
///   from                   shape            component d of slot s is at
///   keys + begin, f32      [D][block_size]  d * block_size + s
///   keys + begin, 16 bits  [block_size][D]  s * D + d
///   values + begin         [block_size][D]  s * D + d
///
/// Keys of f32 are transposed so that SIMD lanes run across slots and each score remains its own
/// ascending chain; values are not, so that lanes run across components. Keys of 16 bits lie as
/// their values do, as matrix instructions want them, and are transposed while they are widened.
/// Position j lives in slot j % block_size of block blocks[j / block_size].
struct PagedKV {
  const void* keys;                       ///< keys of block 0, at this layer and KV head
  const void* values;                     ///< likewise
  std::ptrdiff_t block_stride;            ///< numbers from a block to the next
  int block_size;                         ///< slots in a block, >= 1
  int head_size;                          ///< D, 1 .. kHeadSizeMax
  std::span<const std::uint32_t> blocks;  ///< block table of the sequence
  int length;                             ///< T >= 1; blocks covers it
  int first = 0;                          ///< F, 0 .. T-1: earlier positions are not seen
  KvType type = KvType::f32;              ///< of the numbers
};

/// The query heads of one token that share the KV head (grouped-query attention). Each head is
/// computed as if it were alone; together they are faster.
struct QueryGroup {
  const float* q;                ///< [heads][D], contiguous
  int heads;                     ///< >= 1
  float scale;                   ///< factor of the scores, usually 1 / sqrt(D)
  float score_cap = 0;           ///< soft cap of the scores; 0: none. attend_latent knows none
  const float* sinks = nullptr;  ///< [heads], finite; null: none. attend_latent knows none
};

/// out [heads][D] = attention of each head of `group` over positions kv.first .. kv.length-1.
/// Allocates nothing; thread-safe. O(heads (T - F) D).
void attend(const QueryGroup& group, const PagedKV& kv, float* out);

/// The definition above, as plain loops: slow, with equal bits.
void attend_reference(const QueryGroup& group, const PagedKV& kv, float* out);

/// m_c, l_c and a_c of one query head.
struct AttentionSegment {
  float m = 0;
  float l = 0;
  std::vector<float> a = {};  ///< [D]
};

/// Segment c = `index` of the definition, of a group of one head. Its sink is none of them.
/// Requires: the segment has a position that is seen.
AttentionSegment attend_segment_reference(const QueryGroup& head, const PagedKV& kv, int index);

}  // namespace forge::numerics
