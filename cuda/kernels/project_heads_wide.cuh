// project_heads_wide: products of the heads of rows, each with a matrix of its own, on tensor
// cores.
//
//   grid      x, y: as project_wide, of the rows of one head; z: heads
//   memory    as project_wide, but that a row of x is one of a head, and what comes of it is
//             rounded to 16 bits and lies where attention, or the product of the output, reads it
//   bits      numerics/tensor_product.h, as project_wide; half_of its result
#pragma once

#include "forge/gpu/kernels/project_heads_wide.h"
#include "project_wide.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// As RowsInOrder (tensor_results.cuh), of one head, where results are rounded.
struct RowsOfHead {
  const gpu::ProjectHeadsWideArgs& args;
  int first;
  int head;

  FORGE_DEVICE std::int64_t source(int r) const {
    return (std::int64_t{first} + r) * args.heads + head;
  }
  FORGE_DEVICE std::int64_t result(int r) const { return source(r); }

  /// Stores outputs n and n + 1 of a row.
  FORGE_DEVICE void store(std::int64_t row, int n, Two v) const {
    const gptr<std::uint16_t> y =
        global(static_cast<std::uint16_t*>(args.y)) + row * args.y_stride + n;
    if (n < args.outputs) y[0] = rounded(v.first);
    if (n + 1 < args.outputs) y[1] = rounded(v.second);
  }
  FORGE_DEVICE std::uint16_t rounded(float v) const {
    return args.y_type == numerics::HalfType::f16 ? numerics::half_of<numerics::F16>(v).bits
                                                  : numerics::half_of<numerics::BF16>(v).bits;
  }
};

FORGE_KERNEL(gpu::ProjectHeadsWideArgs::kThreads)
project_heads_wide(gpu::ProjectHeadsWideArgs args) {
  SIMT_SHARED_DYNAMIC(std::uint16_t, ring);
  SIMT_SHARED(float, factors, gpu::ProjectWideArgs::kRowsMax);
  start_next();
  const int head = block().z;
  const gpu::ProjectWideArgs wide = args.of(head);
  with_wide_tile(wide, ring, [&](auto tile, auto half) {
    const RowsOfHead row_of{args, block().x * tile.kTileRows, head};
    project_wide_tile<decltype(half)>(wide.product, tile, row_of, factors);
  });
}

}  // namespace FORGE_KERNELS
