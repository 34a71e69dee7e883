// add_experts: what a row's experts have made, weighed and added up.
//
//   grid      x: rows; y: pieces of the row, a thread a component
//   memory    consecutive floats a warp, of each expert; the choices are the same for all threads,
//             which each work out the gate of the shared experts: cheaper than a launch for it
//   bits      a component is one thread's fma chain over the row's experts, in ascending order, and
//             the shared experts last: model/experts.h. Rows that shared a tile do not enter
#pragma once

#include "forge/gpu/kernels/add_experts.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

/// What a row's shared experts have made is multiplied by this.
FORGE_DEVICE float shared_gate(const gpu::AddExpertsArgs& a, std::uint32_t row) {
  if (a.shared_gates == nullptr) return 1.0f;
  const float z = global(a.shared_gates)[row];
  return numerics::divide(1.0f, 1.0f + numerics::exp(-z));
}

FORGE_KERNEL(gpu::AddExpertsArgs::kThreads) add_experts(gpu::AddExpertsArgs a) {
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  const int n = block().y * threads() + thread();
  if (row >= counts.rows || n >= a.size) return;

  const std::int64_t first_pair = std::int64_t{row} * a.experts_per_token;
  float sum = 0.0f;
  for (int i = 0; i < a.experts_per_token; ++i) {
    const gpu::ExpertChoice choice = global(a.choices)[first_pair + i];
    const float made = global(a.produced)[(first_pair + i) * a.size + n];
    sum = numerics::fma(choice.weight, made, sum);
  }
  const std::int64_t at = std::int64_t{row} * a.size + n;
  if (a.shared != nullptr) {
    const float made = global(a.shared)[at];
    sum = numerics::fma(shared_gate(a, row), made, sum);
  }
  const gptr<float> y = global(a.y) + at;
  if (a.accumulate) {
    const float before = y[0];
    y[0] = numerics::fma(a.multiplier, sum, before);
  } else {
    y[0] = sum;
  }
}

}  // namespace FORGE_KERNELS
