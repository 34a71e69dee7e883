// merge_spans: merges what attend_spans or attend_latent_spans left of the spans of each of the
// first rows of the pass, in ascending order, and each head's sink, if there are sinks. Each thread
// makes one component.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const AttendSpansArgs& spans`, of decode
// rows:
//
//   const MergeSpansArgs args{.in = spans.in,
//                             .row_count = &spans.in.counts->decode_rows,
//                             .partial = spans.partial,
//                             .spans_max = spans.spans_max};
//   return launch_of(args, args.shape(2));  // as many rows as attend_spans has
#pragma once

#include "forge/gpu/kernels/span_input.h"
#include "forge/numerics/span_attention.h"

namespace forge::gpu {

struct MergeSpansArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = numerics::kHeadSizeMax;
  static constexpr BlockResources kResources{.registers = 32};
  SpanInput in;
  const std::uint32_t* row_count;  ///< in device memory: the first so many rows
  const float* partial;            ///< that of AttendSpansArgs
  int spans_max;                   ///< likewise

  simt::LaunchShape shape(int rows_max) const {
    const int threads = threads_for(in.value_size(), kThreads);
    return {{rows_max, in.kv.heads(), ceil_div(in.value_size(), threads)}, threads};
  }
};

}  // namespace forge::gpu
