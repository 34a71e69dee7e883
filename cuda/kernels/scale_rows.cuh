// scale_rows: rows of floats become rows of 16 bits, times the weights of a norm, and the squares
// of their groups of eight (numerics/scaled_norm.h).
//
//   grid      x: rows; y: pieces of a group of eight a thread
//   memory    of x and of the weights 32 bytes a thread, in two requests which take every other 16
//             bytes each; the second finds its sectors in the L1 cache. 16 bytes of h and a float
//             of squares a thread, consecutive in a warp. Weights are on their way before the
//             launch before this one has ended: nobody writes them
//   bits      half_of and group_of_squares (numerics/), group by group; without weights by 1, which
//             changes no bit. The order of rows and threads has nothing to do with it
#pragma once

#include "forge/gpu/kernels/scale_rows.h"
#include "forge/simt/dialect.h"
#include "half_rows.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Eight neighbours of a row.
struct FloatGroup {
  float at[numerics::kSquaresGroup];
};

/// Requires: 16-byte aligned.
FORGE_DEVICE FloatGroup read_group_of_floats(gptr<const float> from) {
  const Float4 low = load4(from);
  const Float4 high = load4(from + 4);
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

/// x w, rounded.
template <class Half>
FORGE_DEVICE Words4 scaled_group(const FloatGroup& x, const FloatGroup& w) {
  const auto pair = [&](int i) {
    return pack_pair<Half>(x.at[i] * w.at[i], x.at[i + 1] * w.at[i + 1]);
  };
  return {pair(0), pair(2), pair(4), pair(6)};
}

FORGE_KERNEL(gpu::ScaleRowsArgs::kThreads) scale_rows(gpu::ScaleRowsArgs a) {
  start_next();
  const auto i = static_cast<std::uint32_t>(block().x);
  const int group = block().y * threads() + thread();
  const int first = numerics::kSquaresGroup * group;
  const bool is_there = first < a.size;
  FloatGroup weight{{1, 1, 1, 1, 1, 1, 1, 1}};
  if (is_there && a.weight != nullptr) weight = read_group_of_floats(global(a.weight) + first);

  wait_for_previous();
  const gpu::PassCounts counts = global(a.counts)[0];
  if (i >= (a.logits == nullptr ? counts.rows : counts.logit_rows) || !is_there) return;
  std::uint32_t row = i;
  if (a.logits != nullptr) {
    const gpu::LogitInput logit = global(a.logits)[i];
    row = logit.row;
  }
  const FloatGroup x = read_group_of_floats(global(a.x) + std::int64_t{row} * a.size + first);
  const std::int64_t at = std::int64_t{i} * (a.size / numerics::kSquaresGroup) + group;
  if (a.squares != nullptr) global(a.squares)[at] = numerics::group_of_squares(x.at);
  with_half(a.type, [&](auto half) {
    global(static_cast<Words4*>(a.h))[at] = scaled_group<decltype(half)>(x, weight);
  });
}

}  // namespace FORGE_KERNELS
