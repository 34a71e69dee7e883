// merge_spans: puts together the spans that attend_spans or attend_latent_spans has left, in
// ascending order, and the sinks.
//
//   grid      x: rows; y: query heads; z: 256 components each, a thread a component
//   memory    of each span Dv consecutive floats a block, and two floats that all threads read
//   bits      the merge of numerics/span_attention.h. Each thread works out the same factors for
//             itself: cheaper than telling one another
#pragma once

#include "forge/gpu/kernels/merge_spans.h"
#include "forge/numerics/tensor_product.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

/// Component d of a head, of the spans [spans][size + 2] that it has in `partial`.
FORGE_DEVICE numerics::SpanSum merged_spans(gptr<const float> partial, int spans, int size, int d) {
  numerics::SpanSum total;
  for (int c = 0; c < spans; ++c) {
    total = total.merged({partial[size], partial[size + 1], partial[d]});
    partial = partial + (size + 2);
  }
  return total;
}

FORGE_KERNEL(gpu::MergeSpansArgs::kThreads) merge_spans(gpu::MergeSpansArgs a) {
  start_next();
  wait_for_previous();
  const auto row = static_cast<std::uint32_t>(block().x);
  const std::uint32_t rows = global(a.row_count)[0];
  const int D = a.in.value_size();
  const int d = block().z * threads() + thread();
  if (row >= rows || d >= D) return;
  const gpu::RowInput input = global(a.in.rows)[row];
  const int length = static_cast<int>(input.position) + 1;
  const int first = a.in.first_seen(length) / numerics::kSpan;

  const std::int64_t head = std::int64_t{row} * a.in.kv.heads() + block().y;
  const gptr<const float> partial = global(a.partial) + (head * a.spans_max + first) * (D + 2);
  numerics::SpanSum total =
      merged_spans(partial, gpu::ceil_div(length, numerics::kSpan) - first, D, d);
  if (a.in.sinks != nullptr) {
    const float sink = global(a.in.sinks)[block().y];
    total = total.merged({sink * numerics::kLog2E, 1, 0});
  }
  const float result = numerics::span_result(total.a, total.l);
  const gptr<std::uint16_t> out = global(static_cast<std::uint16_t*>(a.in.out));
  out[head * D + d] = a.in.out_type == numerics::HalfType::f16
                          ? numerics::half_of<numerics::F16>(result).bits
                          : numerics::half_of<numerics::BF16>(result).bits;
}

}  // namespace FORGE_KERNELS
