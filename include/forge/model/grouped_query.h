// Grouped-query attention (Ainslie et al., arXiv:2305.13245) with the variations of its families:
// biases, norms of queries and keys, a sliding window and RoPE on some layers or all, scores with a
// soft cap, sinks.
//
//   q, k, v   rows of x, by one product; + bias
//   q, k      RMSNorm of each head or of all heads' row; then RoPE, where the layer has it
//   k, v      go into the pool, for all rows before any attends, so rows of a sequence see them
//   output    of attention (numerics/attention.h) over the positions up to the row's own, from the
//             start or the window's; + bias
#pragma once

#include "forge/model/attention_pass.h"
#include "forge/model/packed_model.h"
#include "forge/numerics/aligned.h"

namespace forge::model {

struct GroupedQueryScratch {
  numerics::AlignedFloats qkv;       // [T][(H + 2 Hkv) D]
  numerics::AlignedFloats attended;  // [T][H D]
};

/// out [T][d] = attention of x [T][d]. Writes keys and values of all rows.
/// Requires: pass.config.attention is a GroupedQueryConfig.
void grouped_query_attention(const PackedGroupedQuery& weights, const AttentionPass& pass,
                             const float* x, float* out, GroupedQueryScratch& scratch);

}  // namespace forge::model
