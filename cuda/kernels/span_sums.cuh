// Sums of 16 pairs over a span, and what becomes of them (numerics/span_attention.h):
// A[16][Dv] += P[16][64] V[64][Dv] and l[16] += P[16][64] 1[64] on tensor cores, spans and sinks
// merged, and the result.
//
// Bits: of an output the steps of 16 products come in the order of the definition, in one
// accumulator; which lane has it, and which factor comes first, does not matter
// (numerics/matrix_step.h).
#pragma once

#include "span_scores.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// What a lane has of m, l and a: of its two pairs, and of a in each of the warp's columns two
/// components. kColumns: there is room for so many.
template <int kColumns>
struct SpanSums {
  float m[2] = {numerics::kLowestScore, numerics::kLowestScore};
  MatrixSum<float> l = {};  ///< the same in both components
  MatrixSum<float> a[kColumns] = {};

  FORGE_DEVICE void multiply(const float (&factor)[2]) {
    for (int i = 0; i < 4; ++i) {
      l.at[i] = l.at[i] * factor[i / 2];
      for (int n = 0; n < kColumns; ++n) a[n].at[i] = a[n].at[i] * factor[i / 2];
    }
  }

  /// M, L and A, as the lane has m, l and a of a span.
  FORGE_DEVICE void merge(const SpanSums& span) {
    const numerics::SpanFactors factors[2] = {numerics::span_factors(m[0], span.m[0]),
                                              numerics::span_factors(m[1], span.m[1])};
    for (int r = 0; r < 2; ++r) m[r] = factors[r].m;
    for (int i = 0; i < 4; ++i) {
      l.at[i] = factors[i / 2].merged(l.at[i], span.l.at[i]);
      for (int n = 0; n < kColumns; ++n) {
        a[n].at[i] = factors[i / 2].merged(a[n].at[i], span.a[n].at[i]);
      }
    }
  }
};

/// Adds weights times values of a tile. weights(i): of its 16 keys from 16 i on. Of 32 keys at a
/// time a load brings what two steps need of a column.
template <class Half, int kColumns, class Weights, class Block>
FORGE_DEVICE void multiply_values(const Block& b, const SpanWarp& w, int tile,
                                  SpanSums<kColumns>& sums, const Weights& weights) {
  const std::uint32_t one = pack_pair<Half>(1, 1);
  const int of_values = b.values_of(tile) + b.place(lane());
  FORGE_UNROLLED for (int keys = 0; keys < numerics::kSpanTile; keys += 32) {
    const MatrixA first = weights(keys / 16);
    const MatrixA second = weights(keys / 16 + 1);
    sums.l = matrix_step<Half>(first, {{one, one}}, sums.l);
    sums.l = matrix_step<Half>(second, {{one, one}}, sums.l);
    FORGE_UNROLLED for (int n = 0; n < kColumns; ++n) {
      if (!has_column(b, w, n)) continue;
      const int of_column = b.further(of_values, w.first_column + n);
      const MatrixA values = load_matrix4_transposed(b.ring + of_column + keys * b.row_numbers());
      sums.a[n] = matrix_step<Half>(first, {{values.words[0], values.words[1]}}, sums.a[n]);
      sums.a[n] = matrix_step<Half>(second, {{values.words[2], values.words[3]}}, sums.a[n]);
    }
  }
}

/// Merges the sinks of the lane's two heads, each a span of one key whose value is 0.
template <int kColumns, class Block>
FORGE_DEVICE void merge_sinks(const Block& b, const SpanWarp& w, SpanSums<kColumns>& total) {
  SpanSums<kColumns> sinks{.l = {{1, 1, 1, 1}}};
  for (int r = 0; r < 2; ++r) {
    const int pair = w.pair_of_lane(r);
    if (pair >= b.pairs.count) continue;
    const float sink = global(b.in.sinks)[b.pairs.head_of(pair, b.in.kv.group_size)];
    sinks.m[r] = sink * numerics::kLog2E;
  }
  total.merge(sinks);
}

/// The result of the lane's pair r goes to out [T][H Dv], of numbers of type Out.
template <class Out, int kColumns, class Block>
FORGE_DEVICE void write_attended(const Block& b, const SpanWarp& w, const SpanSums<kColumns>& total,
                                 int r) {
  const int pair = w.pair_of_lane(r);
  if (pair >= b.pairs.count) return;
  const gptr<std::uint32_t> head = global(static_cast<std::uint32_t*>(b.in.out)) +
                                   b.pairs.index_of(pair, b.in.kv) * (b.value_size() / 2);
  const float l = total.l.at[2 * r];
  for (int n = 0; n < kColumns; ++n) {
    if (!has_column(b, w, n)) continue;
    head[(w.first_column + n) * 4 + lane() % 4] =
        pack_pair<Out>(numerics::span_result(total.a[n].at[2 * r], l),
                       numerics::span_result(total.a[n].at[2 * r + 1], l));
  }
}

/// Merges the sinks, if there are any, and writes the result.
template <int kColumns, class Block>
FORGE_DEVICE void finish_spans(const Block& b, const SpanWarp& w, SpanSums<kColumns>& total) {
  if (b.in.sinks != nullptr) merge_sinks(b, w, total);
  with_half(b.in.out_type, [&](auto half) {
    write_attended<decltype(half)>(b, w, total, 0);
    write_attended<decltype(half)>(b, w, total, 1);
  });
}

}  // namespace FORGE_KERNELS
