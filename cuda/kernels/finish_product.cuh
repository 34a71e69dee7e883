// finish_product: what becomes of the sums of a library (tensor_results.cuh).
//
//   grid      x: rows; y: 2048 results of a row. A lane has eight neighbouring ones, which are a
//             group of squares and the outputs of a candidate: no lane needs what another has
//   memory    a lane asks for all that it needs, 16 bytes at a time, before it needs the factor of
//             the row, which one warp of the block works out. A warp has consecutive bytes of one
//             row: 1 KB of sums, 512 bytes of halves. Everything comes and goes once
//   bits      those of project_wide: of each output the same operations, and the squares of a group
//             are added by pairs, as four lanes add them there
#pragma once

#include "best_token.cuh"
#include "forge/gpu/kernels/finish_product.h"
#include "forge/simt/dialect.h"
#include "half_rows.cuh"
#include "tensor_results.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Eight neighbouring numbers of a row, from a multiple of eight on.
struct Eight {
  float at[8];

  static FORGE_DEVICE Eight read(gptr<const float> from) {
    const Float4 low = load4(from);
    const Float4 high = load4(from + 4);
    return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
  }
  FORGE_DEVICE void write(gptr<float> to) const {
    store4(to, {at[0], at[1], at[2], at[3]});
    store4(to + 4, {at[4], at[5], at[6], at[7]});
  }
  template <class Half>
  FORGE_DEVICE void write_rounded(gptr<std::uint16_t> to) const {
    store16(to, {pack_pair<Half>(at[0], at[1]), pack_pair<Half>(at[2], at[3]),
                 pack_pair<Half>(at[4], at[5]), pack_pair<Half>(at[6], at[7])});
  }
};

/// What becomes of eight outputs of a row: where they are, and the row's factor.
template <class Half>
struct FinishEight {
  const gpu::TensorProduct& a;
  std::int64_t row;
  int first;
  float factor;

  /// v of the sums of outputs n to n + 7.
  FORGE_DEVICE Eight biased(const Eight& sums, int n) const {
    Eight v;
    FORGE_UNROLLED for (int i = 0; i < 8; ++i) v.at[i] = factor * sums.at[i];
    if (a.bias == nullptr) return v;
    const Eight bias = Eight::read(global(a.bias) + n);
    FORGE_UNROLLED for (int i = 0; i < 8; ++i) v.at[i] = v.at[i] + bias.at[i];
    return v;
  }

  FORGE_DEVICE void plain(const Eight& sums) const {
    Eight y = biased(sums, first);
    FORGE_UNROLLED for (float& value : y.at) value = capped(a, value);
    if (a.y != nullptr) y.write(global(a.y) + row * a.stride() + first);
    if (a.candidates == nullptr) return;
    sampling::BestToken best = no_token();
    FORGE_UNROLLED for (int i = 0; i < 8; ++i) {
      offer_logit(best, y.at[i], static_cast<std::uint32_t>(first + i));
    }
    global(a.candidates)[row * gpu::candidate_count(a.outputs) + first / gpu::kCandidateLogits] =
        best;
  }

  FORGE_DEVICE void residual(const Eight& sums, const Eight& before) const {
    Eight y = biased(sums, first);
    FORGE_UNROLLED for (int i = 0; i < 8; ++i) {
      y.at[i] = numerics::fma(a.multiplier, y.at[i], before.at[i]);
    }
    const std::int64_t at = row * a.outputs + first;
    y.write(global(a.y) + at);
    if (a.next.h == nullptr) return;
    if (a.next.squares != nullptr) {
      float pairs[4];
      FORGE_UNROLLED for (int i = 0; i < 4; ++i) {
        pairs[i] = y.at[2 * i] * y.at[2 * i] + y.at[2 * i + 1] * y.at[2 * i + 1];
      }
      global(a.next.squares)[at / numerics::kSquaresGroup] =
          (pairs[0] + pairs[1]) + (pairs[2] + pairs[3]);
    }
    if (a.next.weight != nullptr) {
      const Eight weight = Eight::read(global(a.next.weight) + first);
      FORGE_UNROLLED for (int i = 0; i < 8; ++i) y.at[i] = y.at[i] * weight.at[i];
    }
    y.template write_rounded<Half>(global(static_cast<std::uint16_t*>(a.next.h)) + at);
  }

  FORGE_DEVICE void gated(const Eight& gates, const Eight& ups) const {
    const Eight gate = biased(gates, first);
    const Eight up = biased(ups, a.columns() + first);
    Eight h;
    FORGE_UNROLLED for (int i = 0; i < 8; ++i) {
      h.at[i] = gated_unit(a.gated.function, gate.at[i], up.at[i]);
    }
    const gptr<std::uint16_t> to = global(static_cast<std::uint16_t*>(a.gated.h));
    h.template write_rounded<Half>(to + row * a.columns() + first);
  }
};

/// s of a row, by one warp for the block.
FORGE_DEVICE float block_factor(const gpu::TensorProduct& a, std::int64_t row, sptr<float> factor) {
  if (a.norm.squares == nullptr) return 1.0f;
  if (warp() == 0) {
    for_each_square_sum<1>(
        a, 1, [&](int) { return row; },
        [&](int, float sum) {
          if (lane() == 0) factor[0] = row_factor(a, sum);
        });
  }
  sync_block();
  return factor[0];
}

FORGE_KERNEL(gpu::FinishProductArgs::kThreads, gpu::FinishProductArgs::kBlocks)
finish_product(gpu::FinishProductArgs args) {
  SIMT_SHARED(float, factor, 1);
  start_next();
  wait_for_previous();
  const gpu::TensorProduct& a = args.product;
  const std::int64_t row = block().x;
  if (row >= global(a.row_count)[0]) return;
  const int first = block().y * gpu::FinishProductArgs::kBlockResults +
                    thread() * gpu::FinishProductArgs::kLaneResults;
  const bool is_there = first < a.columns();
  Eight sums = {};
  Eight others = {};  // ups, or what is added to
  if (is_there) {
    const gptr<const float> from = global(args.sums) + row * a.outputs + first;
    sums = Eight::read(from);
    if (a.is_gated()) {
      others = Eight::read(from + a.columns());
    } else if (a.accumulate) {
      others = Eight::read(global(static_cast<const float*>(a.y)) + row * a.outputs + first);
    }
  }
  const float s = block_factor(a, row, factor);
  if (!is_there) return;
  with_half(a.type, [&](auto half) {
    const FinishEight<decltype(half)> eight{a, row, first, s};
    if (a.is_gated()) return eight.gated(sums, others);
    if (a.accumulate) return eight.residual(sums, others);
    eight.plain(sums);
  });
}

}  // namespace FORGE_KERNELS
