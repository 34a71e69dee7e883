// The softmax of a context, chunk after chunk (numerics/attention.h): what is known of one query's
// scores so far, and how a further chunk changes the sums of weight * value.
#pragma once

#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {

struct alignas(16) OnlineSoftmax {
  float m;           ///< largest score
  float l;           ///< sum of the weights
  float old_factor;  ///< of what was summed before the last chunk
  float new_factor;  ///< of the last chunk's own sums

  /// After a chunk with largest score `chunk_m` and sum `chunk_l`.
  FORGE_DEVICE OnlineSoftmax merged(float chunk_m, float chunk_l) const {
    const float larger = chunk_m > m ? chunk_m : m;
    const float e = numerics::exp(m - larger);
    const float f = numerics::exp(chunk_m - larger);
    return {larger, numerics::fma(l, e, chunk_l * f), e, f};
  }
  /// The sum of weight * value with that chunk: `sum` was before, `chunk_sum` is the chunk's.
  FORGE_DEVICE float merged_sum(float sum, float chunk_sum) const {
    return numerics::fma(sum, old_factor, chunk_sum * new_factor);
  }
};

}  // namespace FORGE_KERNELS
