// Attention of the query heads of one token over a paged cache of latents, in one fixed order.
//
// In multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1) a token leaves one
// row for all heads: a latent [R], from which keys and values of every head would be made by
// products, and the part of the key that turns with position [S]. The products commute with
// attention's sums: instead of making keys, one multiplies the query by the key weights once, and
// instead of making values, the weighted sum of latents by the value weights once ("absorbed").
// What is left is attention with one KV head of size R + S, whose values are the first R components
// of its keys.
//
// Legend: R value size, R + S key size, H heads, c_j [R + S] the row of position j as it is stored
// (kv_type.h), q [R + S] one query head. out = attention of attention.h with k_j = c_j, v_j =
// c_j[0 .. R), first position 0: the same segments, the same chains, the same sums, and so bits
// that depend on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "forge/numerics/attention.h"

namespace forge::numerics {

/// Largest key size that attend_latent accepts.
inline constexpr int kLatentSizeMax = 1024;

/// What one layer has cached for one sequence. Borrows everything.
///
///   rows + block * block_stride:  [block_size][R + S]  c of slot s at s * (R + S)
///
/// A row is stored once and read twice: lanes run across query heads, which all share it, for the
/// scores, and across its components for the sums.
struct PagedLatent {
  const void* rows;                       ///< rows of block 0, at this layer
  std::ptrdiff_t block_stride;            ///< numbers from a block to the next
  int block_size;                         ///< slots in a block, >= 1
  int key_size;                           ///< R + S, 1 .. kLatentSizeMax
  int value_size;                         ///< R, 1 .. key_size
  std::span<const std::uint32_t> blocks;  ///< block table of the sequence
  int length;                             ///< T >= 1; blocks covers it
  KvType type = KvType::f32;              ///< of the numbers
};

/// out [heads][R] = attention of each head of `group`, q [heads][R + S], over positions
/// 0 .. length-1. A head has the same bits alone and among others. Allocates nothing; thread-safe.
/// O(heads T (2 R + S)).
void attend_latent(const QueryGroup& group, const PagedLatent& latent, float* out);

// The definition, as plain loops, and a segment of it, as in attention.h.

void attend_reference(const QueryGroup& group, const PagedLatent& latent, float* out);
AttentionSegment attend_segment_reference(const float* q, float scale, const PagedLatent& latent,
                                          int index);

}  // namespace forge::numerics
