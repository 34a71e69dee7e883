// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1), absorbed: the cache
// holds latents, and keys and values of single heads are never made.
//
//   q          query_up( norm( query_down x ) ), or query_up x: N + R components for each head,
//              the last R of which turn
//   c, k_R     kv_down x: the latent, normed, and a key part that turns; one row of the cache
//   q_C        key_up_h^T q_N: the head's query in terms of latents
//   a          sum over positions of softmax( (q_C, q_R) . (c, k_R) scale ) c
//   output     of value_up_h a
//
// Per token and layer the cache has C + R floats instead of 2 H D.
// Legend: stored_model.h.
#pragma once

#include "forge/model/attention_pass.h"
#include "forge/model/packed_model.h"
#include "forge/numerics/aligned.h"

namespace forge::model {

/// Memory for one part of the products of single heads.
struct HeadScratch {
  numerics::AlignedFloats x;  // [T][inputs]
  numerics::AlignedFloats y;  // [T][outputs]
  linear::ProductScratch products;
};

struct LatentScratch {
  numerics::AlignedFloats query_latent;  // [T][Q]
  numerics::AlignedFloats query;         // [T][H (N + R)]
  numerics::AlignedFloats row;           // [T][C + R] what goes into the cache
  numerics::AlignedFloats absorbed;      // [T][H][C + R]
  numerics::AlignedFloats sums;          // [T][H][C]
  numerics::AlignedFloats values;        // [T][H Dv]
  std::vector<HeadScratch> heads;        // one for each part
};

/// out [T][d] = attention of x [T][d]. Writes the latents of all rows.
/// Requires: pass.config.attention is a LatentConfig; the pool's layout is latent.
void latent_attention(const PackedLatent& weights, const AttentionPass& pass, const float* x,
                      float* out, LatentScratch& scratch);

}  // namespace forge::model
