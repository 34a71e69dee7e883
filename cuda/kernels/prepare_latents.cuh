// prepare_latents: norms and turns a row's latent and puts it into the cache; rounds what its
// queries are to be multiplied with next, and turns the rest.
//
//   grid      x: rows; y: heads of queries, then the latent; a warp each
//   memory    as store_latent; of a query its N components that do not turn are read as well, a
//             lane a component, and written in 16 bits
//   bits      store_row and turn of store_latent.cuh, in floats; what comes out is rounded once, as
//             the cache's numbers are (numerics/kv_type.h)
#pragma once

#include "forge/gpu/kernels/prepare_latents.h"
#include "half_rows.cuh"
#include "store_latent.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// to [N] = from [N], rounded.
template <class Half>
FORGE_DEVICE void round_plain(const gpu::PrepareLatentsArgs& a, gptr<const float> from,
                              gptr<Half> to) {
  for (int n = lane(); n < a.nope_size; n += kWarpSize) {
    const float x = from[n];
    to[n] = numerics::half_of<Half>(x);
  }
}

/// Head `block().y` of a row.
FORGE_DEVICE void prepare_latent_query(const gpu::PrepareLatentsArgs& a, std::uint32_t row,
                                       std::uint32_t position) {
  const gpu::LatentLayer& latents = a.latents;
  const std::int64_t head = std::int64_t{row} * a.heads + block().y;
  const gptr<const float> query = global(a.queries) + head * (a.nope_size + latents.rope_size);
  with_half(a.plain_type, [&](auto half) {
    using Half = decltype(half);
    round_plain(a, query, global(static_cast<Half*>(a.plain)) + head * a.nope_size);
  });
  with_half(numerics::half_type(latents.type), [&](auto half) {
    using Half = decltype(half);
    const gptr<Half> absorbed = global(static_cast<Half*>(a.absorbed)) + head * latents.row_size();
    turn(a, position, query + a.nope_size, absorbed + latents.latent_size);
  });
}

FORGE_KERNEL(gpu::PrepareLatentsArgs::kThreads) prepare_latents(gpu::PrepareLatentsArgs a) {
  start_next();
  wait_for_previous();
  const auto row = static_cast<std::uint32_t>(block().x);
  const gpu::PassCounts counts = global(a.counts)[0];
  if (row >= counts.rows) return;
  const gpu::RowInput input = global(a.rows)[row];
  if (block().y < a.heads) return prepare_latent_query(a, row, input.position);
  const gptr<const float> x = global(a.products) + std::int64_t{row} * a.latents.row_size();
  const std::int64_t at = row_of(a.latents, input.table, static_cast<int>(input.position));
  with_half(numerics::half_type(a.latents.type), [&](auto half) {
    store_row(a, input.position, x, numbers_of<decltype(half)>(a.latents) + at);
  });
}

}  // namespace FORGE_KERNELS
