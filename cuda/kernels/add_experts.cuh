// add_experts: what a row's experts have made, weighed and added up.
//
//   grid      x: rows; y: pieces of the row, a thread a component
//   memory    consecutive floats a warp, of each expert; the choices are the same for all threads,
//             which each work out the gate of the shared experts: cheaper than a launch for it. The
//             weight of the next norm is on its way before the launch before this one has ended
//   bits      a component is one thread's fma chain over the row's experts, in ascending order, and
//             the shared experts last: model/experts.h. Rows that shared a tile do not enter. The
//             next rows are half_of and group_of_squares (numerics/), whose tree is that of the
//             lanes: a + b is b + a
#pragma once

#include "forge/gpu/kernels/add_experts.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"
#include "half_rows.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// What a row's shared experts have made is multiplied by this.
FORGE_DEVICE float shared_gate(const gpu::AddExpertsArgs& a, std::uint32_t row) {
  if (a.shared_gates == nullptr) return 1.0f;
  const float z = global(a.shared_gates)[row];
  return numerics::divide(1.0f, 1.0f + numerics::exp(-z));
}

/// The sum of what all experts of a row have made, component n of it.
FORGE_DEVICE float sum_of_experts(const gpu::AddExpertsArgs& a, std::uint32_t row, int n) {
  const std::int64_t first_pair = std::int64_t{row} * a.experts_per_token;
  float sum = 0.0f;
  for (int i = 0; i < a.experts_per_token; ++i) {
    const gpu::ExpertChoice choice = global(a.choices)[first_pair + i];
    const float made = global(a.produced)[(first_pair + i) * a.size + n];
    sum = numerics::fma(choice.weight, made, sum);
  }
  if (a.shared != nullptr) {
    const float made = global(a.shared)[std::int64_t{row} * a.size + n];
    sum = numerics::fma(shared_gate(a, row), made, sum);
  }
  return sum;
}

/// Component `at` of y, of all rows, as the next product reads it, if it is there; and the squares
/// of eight of them, by the first of their lanes. All lanes take part.
template <class Half>
FORGE_DEVICE void store_next(const gpu::AddExpertsArgs& a, bool is_there, std::int64_t at, float y,
                             float weight) {
  float squares = y * y;
  for (int distance = 1; distance < numerics::kSquaresGroup; distance *= 2) {
    squares = squares + shuffle_xor(squares, distance);
  }
  if (!is_there) return;
  global(static_cast<Half*>(a.next.h))[at] = numerics::half_of<Half>(y * weight);
  if (a.next.squares == nullptr || lane() % numerics::kSquaresGroup != 0) return;
  global(a.next.squares)[at / numerics::kSquaresGroup] = squares;
}

FORGE_KERNEL(gpu::AddExpertsArgs::kThreads) add_experts(gpu::AddExpertsArgs a) {
  start_next();
  const auto row = static_cast<std::uint32_t>(block().x);
  const int n = block().y * threads() + thread();
  const bool is_there = n < a.size;
  float weight = 1.0f;
  if (is_there && a.next.weight != nullptr) weight = global(a.next.weight)[n];

  wait_for_previous();
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;
  const std::int64_t at = std::int64_t{row} * a.size + n;
  float y = 0.0f;
  if (is_there) {
    y = sum_of_experts(a, row, n);
    if (a.accumulate) {
      const float before = global(a.y)[at];
      y = numerics::fma(a.multiplier, y, before);
    }
    global(a.y)[at] = y;
  }
  if (a.next.h == nullptr) return;
  with_half(a.type, [&](auto half) { store_next<decltype(half)>(a, is_there, at, y, weight); });
}

}  // namespace FORGE_KERNELS
