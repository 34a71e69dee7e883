// Products of up to 8 rows and a panel of codes (code_panel.cuh), with rows in 8 bits
// (code_rows.cuh).
//
// An output is one fma chain over the groups of 32 inputs, each of which continues it by its sum of
// integers times its scales. The sums are exact, so groups are taken side by side, a warp each, and
// only the chain waits:
//
//   warp 0   group 0 --+-- group 8 ----+--
//   warp 1   group 1 --+-- group 9 ----+--     + is a barrier: sums and scales of a round are in
//   ...                |               |        shared memory, and warp w continues the chains of
//   warp 7   group 7 --+-- group 15 ---+--      rows w, w + W, ... of the tile
#pragma once

#include "code_panel.cuh"
#include "forge/numerics/canonical.h"
#include "product.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// A panel of codes.
struct CodePanel {
  const std::byte* panel;
  linear::PanelKind kind;
};

/// What a group adds to the chains, [rows][32] but for the last: acc = fma(sum, step, acc), and
/// then, of kinds with minima, acc = fma(minus_minimum, low_sum, acc).
struct GroupTerms {
  sptr<float> sum;            ///< of (c - o) a
  sptr<float> step;           ///< s dx
  sptr<float> low_sum;        ///< dx times the sum of a, or of a times the minima of halves
  sptr<float> minus_minimum;  ///< [32]

  static FORGE_DEVICE GroupTerms of_warp(const ProductMemory& memory, int warp) {
    const sptr<float> work = memory.work + warp * kWorkFloats;
    return {memory.partial + warp * kTileFloats, work, work + kTileFloats, work + 2 * kTileFloats};
  }
};

/// The terms of one group for this lane's output.
template <class Rows>
FORGE_DEVICE void multiply_group(const ProductInputs<Rows>& in, const CodePanel& w, int group,
                                 const GroupTerms& terms) {
  GroupCodes codes;
  read_group(w.kind, w.panel, group, lane(), codes);
  const GroupScales& scales = codes.scales;
  const int groups = linear::codes::group_count(in.inputs);
  for (int r = 0; r < in.row_count; ++r) {
    const gpu::RowGroup x = in.coded[in.rows(r) * groups + group];
    std::int32_t sums[2] = {};  // of halves
    for (int q = 0; q < linear::codes::kQuads; ++q) {
      sums[q / 4] = dot4(codes.words[q], x.quads[q], sums[q / 4]);
    }
    std::int32_t sum = 0;
    std::int32_t low_sum = 0;
    for (int half = 0; half < 2; ++half) {
      sum += scales.half_scales[half] * (sums[half] - scales.offset * x.sums[half]);
      low_sum += scales.half_mins[half] * x.sums[half];
    }
    const int at = r * kWarpSize + lane();
    terms.sum[at] = static_cast<float>(sum);
    terms.step[at] = scales.step * x.scale;
    if (linear::has_minima(w.kind)) terms.low_sum[at] = x.scale * static_cast<float>(low_sum);
  }
  if (linear::has_minima(w.kind)) terms.minus_minimum[lane()] = scales.minus_minimum;
}

/// The chain of row r and this lane's output, continued by the groups of a round.
FORGE_DEVICE float continued(float chain, const ProductMemory& memory, int r, int groups,
                             bool minima) {
  const int at = r * kWarpSize + lane();
  for (int c = 0; c < groups; ++c) {
    const GroupTerms terms = GroupTerms::of_warp(memory, c);
    const float sum = terms.sum[at];
    const float step = terms.step[at];
    chain = numerics::fma(sum, step, chain);
    if (!minima) continue;
    const float minus_minimum = terms.minus_minimum[lane()];
    const float low_sum = terms.low_sum[at];
    chain = numerics::fma(minus_minimum, low_sum, chain);
  }
  return chain;
}

/// Calls write(r, y) with this lane's output of each row, in one warp for each row, the same in
/// every round, which keeps the row's chain in shared memory.
template <class Rows, class Write>
FORGE_DEVICE void multiply_codes(const ProductInputs<Rows>& in, const CodePanel& w,
                                 const ProductMemory& memory, const Write& write) {
  const int warps = threads() / kWarpSize;
  const int groups = linear::codes::group_count(in.inputs);
  const sptr<float> chains = memory.partial + kProjectWarps * kTileFloats + lane();
  for (int round = 0; round < groups; round += warps) {
    if (round > 0) sync_block();
    const int group = round + warp();
    if (group < groups) multiply_group(in, w, group, GroupTerms::of_warp(memory, warp()));
    sync_block();
    const int count = groups - round < warps ? groups - round : warps;
    for (int r = warp(); r < in.row_count; r += warps) {
      float chain = 0.0f;
      if (round > 0) chain = chains[r * kWarpSize];
      chain = continued(chain, memory, r, count, linear::has_minima(w.kind));
      if (round + warps < groups) {
        chains[r * kWarpSize] = chain;
      } else {
        write(r, chain);
      }
    }
  }
}

}  // namespace FORGE_KERNELS
