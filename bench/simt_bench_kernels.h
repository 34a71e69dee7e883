// The kernels that simt_bench.cc measures, compiled in both builds of the simulated machine.
#pragma once

#include "forge/simt/machine.h"

namespace forge::bench {

/// Each thread meets its warp (or its block) `meetings` times and does nothing else.
struct MeetingArgs {
  int meetings;
  bool of_block;
};

/// Decode attention with online softmax, a warp for each sequence and head: the keys are 64 long,
/// two elements a lane, so that each key is one warp_sum.
struct DecodeArgs {
  static constexpr int kHeadSize = 64;
  static constexpr int kBlockSize = 16;
  const float* queries;     ///< [sequences][heads][64]
  const float* keys;        ///< [blocks][heads][16][64]
  const float* values;      ///< as keys
  const int* block_tables;  ///< [sequences][context / 16]
  float* out;               ///< as queries
  int context;
};

/// y = 2 x; no thread waits.
struct DoubleArgs {
  static constexpr int kThreads = 256;
  const float* x;
  float* y;
};

struct BenchEntries {
  simt::Entry meet, decode, twice;
};

}  // namespace forge::bench

namespace forge::kernels::plain {
bench::BenchEntries bench_entries();
}
namespace forge::kernels::instrumented {
bench::BenchEntries bench_entries();
}
