// store_latent: norms a row's latent, turns the key part that goes with it, and puts both into the
// cache; turns what its queries are to be compared with that.
//
//   grid      x: rows; y: heads of queries, then the latent; a warp each
//   memory    a row of the cache is consecutive, so that reading and writing are coalesced. The
//             pairs that turn are few: R / 2, 32 in all published models, a lane each
//   bits      rms_norm.cuh and rotate_pairs (numerics/vector_ops.h), by the host's tables. The
//             cache has them rounded to its type (numerics/kv_type.h)
#pragma once

#include "forge/gpu/kernels/store_latent.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"
#include "latent_row.cuh"
#include "rms_norm.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// to [R] = from [R], turned to `position` where the layer turns, rounded to what `to` has.
template <class Args, class Stored>
FORGE_DEVICE void turn(const Args& a, std::uint32_t position, gptr<const float> from,
                       gptr<Stored> to) {
  const int half = a.latents.rope_size / 2;
  for (int i = lane(); i < half; i += kWarpSize) {
    const int first = a.adjacent ? 2 * i : i;
    const int second = a.adjacent ? 2 * i + 1 : i + half;
    const float x = from[first];
    const float y = from[second];
    if (a.rotary == nullptr) {
      to[first] = numerics::stored<Stored>(x);
      to[second] = numerics::stored<Stored>(y);
      continue;
    }
    const gptr<const float> rotary = global(a.rotary) + std::int64_t{position} * 2 * half;
    const float cos = rotary[i];
    const float sin = rotary[half + i];
    to[first] = numerics::stored<Stored>(numerics::fma(x, cos, -(y * sin)));
    to[second] = numerics::stored<Stored>(numerics::fma(y, cos, x * sin));
  }
}

/// The row x of products becomes the row y of the cache.
template <class Args, class Stored>
FORGE_DEVICE void store_row(const Args& a, std::uint32_t position, gptr<const float> x,
                            gptr<Stored> y) {
  const int C = a.latents.latent_size;
  const float scale = norm_scale(x, C, a.eps);
  for (int n = lane(); n < C; n += kWarpSize) {
    const float scaled = x[n] * scale;
    const float weight = global(a.norm)[n];
    y[n] = numerics::stored<Stored>(scaled * weight);
  }
  turn(a, position, x + C, y + C);
}

FORGE_KERNEL(gpu::StoreLatentArgs::kThreads) store_latent(gpu::StoreLatentArgs a) {
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;
  const gpu::RowInput input = global(a.rows)[row];
  const gpu::LatentLayer& latents = a.latents;
  const int C = latents.latent_size;

  if (block().y < a.heads) {
    const std::int64_t head = std::int64_t{row} * a.heads + block().y;
    const gptr<const float> query = global(a.queries) + head * (a.nope_size + latents.rope_size);
    turn(a, input.position, query + a.nope_size,
         global(a.absorbed) + head * latents.row_size() + C);
    return;
  }
  const gptr<const float> x = global(a.products) + std::int64_t{row} * latents.row_size();
  const std::int64_t at = row_of(latents, input.table, static_cast<int>(input.position));
  with_stored(latents.type, [&](auto stored) {
    store_row(a, input.position, x, numbers_of<decltype(stored)>(latents) + at);
  });
}

}  // namespace FORGE_KERNELS
