// The softmax of a context, segment after segment (numerics/attention.h): what is known of one
// query's scores so far, and how a further segment changes the sums of weight * value.
#pragma once

#include "forge/gpu/kernels/attention_input.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {

struct alignas(16) OnlineSoftmax {
  float m;           ///< largest score
  float l;           ///< sum of the weights
  float old_factor;  ///< multiplies what was summed before the last segment
  float new_factor;  ///< multiplies the last segment's own sums

  /// The softmax after a segment with largest score `segment_m` and sum `segment_l`.
  FORGE_DEVICE OnlineSoftmax merged(float segment_m, float segment_l) const {
    const float larger = segment_m > m ? segment_m : m;
    const float e = numerics::exp(m - larger);
    const float f = numerics::exp(segment_m - larger);
    return {larger, numerics::fma(l, e, segment_l * f), e, f};
  }
  /// The sum of weight * value with that segment: `sum` was before, `segment_sum` is the segment's.
  FORGE_DEVICE float merged_sum(float sum, float segment_sum) const {
    return numerics::fma(sum, old_factor, segment_sum * new_factor);
  }
};

/// A component of what query head `head` attends to, once all segments are merged. A sink is one
/// segment more, whose one key has no value; each thread merges it for itself, which is cheaper
/// than telling one another.
FORGE_DEVICE float attended(const gpu::AttentionInput& in, std::int64_t head, float sum,
                            const OnlineSoftmax& softmax) {
  if (in.sinks == nullptr) return numerics::divide(sum, softmax.l);
  const float sink = simt::global(in.sinks)[head];
  const OnlineSoftmax with_sink = softmax.merged(sink, 1.0f);
  return numerics::divide(with_sink.merged_sum(sum, 0.0f), with_sink.l);
}

}  // namespace FORGE_KERNELS
