// code_rows: activations rounded to 8 bits in groups of 32, as products with codes take them: each
// group is that of linear::code_group (linear/product.h). Eight threads make a group, each four
// numbers of it.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const PassCounts* counts`,
// `const float* normed` and `RowGroup* coded`:
//
//   const CodeRowsArgs args{.row_count = &counts->rows,
//                           .x = normed,
//                           .coded = coded,
//                           .inputs = 4096};
//   return launch_of(args, args.shape(64));  // up to 64 rows
#pragma once

#include <cstdint>

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/linear/code_layout.h"
#include "forge/numerics/half.h"

namespace forge::gpu {

/// 32 activations: x is about scale * a. It is loaded whole.
struct alignas(16) RowGroup {
  std::uint32_t quads[linear::codes::kQuads];  ///< a, four signed bytes a word
  std::int32_t sums[2];                        ///< of a of inputs 0 .. 15 and 16 .. 31
  float scale;                                 ///< dx
  float scaled_sum;                            ///< dx * float(sum of a)
};

struct CodeRowsArgs {
  static constexpr bool kOverlaps = true;
  static constexpr int kThreads = 128;
  static constexpr int kGroupThreads = linear::codes::kQuads;  ///< of a group
  static constexpr BlockResources kResources{.registers = 23};
  const std::uint32_t* row_count;  ///< &counts->rows, or that of another pass
  const float* x;    ///< [rows][vectors][x_stride], of which [K] are read, or null: `halves` are
  RowGroup* coded;   ///< [rows][vectors][ceil(K / 32)], the last padded with zeros
  int inputs;        ///< K, at least 1
  int vectors = 1;   ///< of a row
  int x_stride = 0;  ///< floats from a vector to the next; 0: K
  /// [K] or null: order[k] is the input that becomes the k-th (linear::Section::order).
  const std::int32_t* order = nullptr;
  const void* halves = nullptr;  ///< x of `type`
  numerics::HalfType type = {};

  simt::LaunchShape shape(int rows_max) const {
    const int threads = linear::codes::group_count(inputs) * kGroupThreads;
    return {{rows_max * vectors, ceil_div(threads, kThreads), 1}, threads_for(threads, kThreads)};
  }
};

}  // namespace forge::gpu
