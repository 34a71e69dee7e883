// The kernels of simt_bench_kernels.h.
#pragma once

#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"
#include "simt_bench_kernels.h"

namespace FORGE_KERNELS {

FORGE_KERNEL(1024) meet(forge::bench::MeetingArgs a) {
  for (int i = 0; i < a.meetings; ++i) {
    if (a.of_block) {
      forge::simt::sync_block();
    } else {
      forge::simt::sync_warp();
    }
  }
}

FORGE_KERNEL(32) decode(forge::bench::DecodeArgs a) {
  constexpr int kHeadSize = forge::bench::DecodeArgs::kHeadSize;
  constexpr int kBlockSize = forge::bench::DecodeArgs::kBlockSize;
  const int lane = forge::simt::lane();
  const int sequence = forge::simt::block().x;
  const int head = forge::simt::block().y;
  const int heads = forge::simt::grid().y;
  const int row = (sequence * heads + head) * kHeadSize;
  const auto queries = forge::simt::global(a.queries) + row;
  const auto keys = forge::simt::global(a.keys);
  const auto values = forge::simt::global(a.values);
  const auto table = forge::simt::global(a.block_tables) + sequence * (a.context / kBlockSize);
  const float q0 = queries[lane];
  const float q1 = queries[lane + 32];
  float max = -1e30f;
  float sum = 0;
  float out0 = 0;
  float out1 = 0;
  for (int position = 0; position < a.context; ++position) {
    const int block = table[position / kBlockSize];
    const int key = ((block * heads + head) * kBlockSize + position % kBlockSize) * kHeadSize;
    const float k0 = keys[key + lane];
    const float k1 = keys[key + lane + 32];
    const float score = forge::simt::warp_sum(forge::numerics::fma(q0, k0, q1 * k1));
    const float new_max = score > max ? score : max;
    const float scale = forge::numerics::exp(max - new_max);
    const float weight = forge::numerics::exp(score - new_max);
    max = new_max;
    sum = forge::numerics::fma(sum, scale, weight);
    out0 = forge::numerics::fma(weight, values[key + lane], out0 * scale);
    out1 = forge::numerics::fma(weight, values[key + lane + 32], out1 * scale);
  }
  const auto out = forge::simt::global(a.out) + row;
  out[lane] = out0 / sum;
  out[lane + 32] = out1 / sum;
}

FORGE_KERNEL(forge::bench::DoubleArgs::kThreads) twice(forge::bench::DoubleArgs a) {
  const int i = forge::simt::block().x * forge::simt::threads() + forge::simt::thread();
  forge::simt::global(a.y)[i] = 2 * forge::simt::global(a.x)[i];
}

forge::bench::BenchEntries bench_entries() {
  return {.meet = FORGE_KERNEL_ENTRY(meet),
          .decode = FORGE_KERNEL_ENTRY(decode),
          .twice = FORGE_KERNEL_ENTRY(twice)};
}

}  // namespace FORGE_KERNELS
