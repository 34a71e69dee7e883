// What the kernels of fast attention share (numerics/span_attention.h): rows, queries of 16 bits,
// where the KV of a layer lies, and what rows attend over. Legend: kernels.h.
#pragma once

#include <cstdint>

#include "forge/gpu/kernels/attention_input.h"
#include "forge/numerics/half.h"

namespace forge::gpu {

/// A row at position p attends over positions 0 .. p, or the last `window` of these. kv.type is
/// bf16 or f16, D a multiple of 16.
struct SpanInput {
  const PassCounts* counts;
  const RowInput* rows;
  const void* q;  ///< [T][H D] of kv.type, turned
  void* out;      ///< [T][H D] of out_type
  numerics::HalfType out_type;
  KvLayer kv;
  float scale;
  int window = 0;                ///< positions that a row sees, its own included; 0: all
  float score_cap = 0;           ///< soft cap of the scores; 0: none
  const float* sinks = nullptr;  ///< [H] or null: a score more of each head, without a value

  /// First position that a row sees, of the `length` positions up to its own.
  FORGE_HOST_DEVICE int first_seen(int length) const {
    return window > 0 && length > window ? length - window : 0;
  }
};

}  // namespace forge::gpu
