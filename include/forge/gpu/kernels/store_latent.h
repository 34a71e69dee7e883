// store_latent: what is left to do once the products of a row are there. Its latent is normed
// (numerics/vector_ops.h) and goes to the pool with the key part, turned by its position, both
// rounded to the pool's type (numerics/kv_type.h); the parts of its queries that turn are turned
// and go behind those that are in terms of latents. Each head has a warp, and the latent has one.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const LatentAttentionInput& in`,
// `const float* rotary`, `const float* norm`, `const float* products`, `const float* queries` and
// `float* absorbed`:
//
//   const StoreLatentArgs args{.counts = in.counts,
//                              .rows = in.rows,
//                              .rotary = rotary,
//                              .norm = norm,
//                              .products = products,
//                              .queries = queries,
//                              .absorbed = absorbed,
//                              .latents = in.latents,
//                              .heads = in.heads,
//                              .nope_size = 128,
//                              .eps = 1e-6F,
//                              .adjacent = true};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include "forge/gpu/kernels/latent_input.h"

namespace forge::gpu {

struct StoreLatentArgs {
  static constexpr int kThreads = 32;
  static constexpr BlockResources kResources{.registers = 62};
  const PassCounts* counts;
  const RowInput* rows;
  const float* rotary;    ///< [positions][2][R / 2]: cosines, sines; null: nothing turns
  const float* norm;      ///< [C]
  const float* products;  ///< [T][C + R]: those of the matrix down to latents
  const float* queries;   ///< [T][H][N + R]
  float* absorbed;        ///< [T][H][C + R], of which the last R of each head are written
  LatentLayer latents;
  int heads;      ///< H
  int nope_size;  ///< N
  float eps;      ///< of the norm
  bool adjacent;  ///< components 2 i and 2 i + 1 turn together, not i and i + R / 2

  simt::LaunchShape shape(int rows_max) const { return {{rows_max, heads + 1, 1}, kThreads}; }
};

}  // namespace forge::gpu
