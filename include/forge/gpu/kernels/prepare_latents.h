// prepare_latents: what happens between the products of queries and latents and attention, of fast
// numerics (numerics/fast.h). As in store_latent, a row's latent is normed and its key part turned,
// in floats, and both go to the pool; here as numbers of 16 bits. Of the queries, what is to be put
// in terms of latents is rounded for that product, and what turns is turned, rounded and put where
// that product leaves room. Each head has a warp, and the latent has one.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const SpanInput& in`,
// `const LatentLayer& latents`, `const float* rotary`, `const float* norm`,
// `const float* products`, `const float* queries`, `void* plain` and `void* absorbed`:
//
//   const PrepareLatentsArgs args{.counts = in.counts,
//                                 .rows = in.rows,
//                                 .rotary = rotary,
//                                 .norm = norm,
//                                 .products = products,
//                                 .queries = queries,
//                                 .plain = plain,
//                                 .plain_type = numerics::HalfType::bf16,
//                                 .absorbed = absorbed,
//                                 .latents = latents,
//                                 .heads = 16,
//                                 .nope_size = 128,
//                                 .eps = 1e-6F,
//                                 .adjacent = true};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/latent_input.h"
#include "forge/numerics/half.h"

namespace forge::gpu {

struct PrepareLatentsArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 32;
  static constexpr BlockResources kResources{.registers = 64};
  const PassCounts* counts;
  const RowInput* rows;
  const float* rotary;    ///< as StoreLatentArgs, and so the next ones
  const float* norm;      ///< [C]
  const float* products;  ///< [T][C + R]
  const float* queries;   ///< [T][H][N + R]
  void* plain;            ///< [T][H][N] of plain_type: what does not turn
  numerics::HalfType plain_type;
  void* absorbed;  ///< [T][H][C + R] of latents.type, of which the last R of each head are written
  LatentLayer latents;  ///< of 16 bits
  int heads;            ///< H
  int nope_size;        ///< N
  float eps;
  bool adjacent;

  simt::LaunchShape shape(int rows_max) const { return {{rows_max, heads + 1, 1}, kThreads}; }
};

}  // namespace forge::gpu
