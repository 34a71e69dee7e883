// update_tables: tables[w.table][w.index] = w.block for each write. Each thread does one write.
//
// Example, with `#include "forge/gpu/kernels.h"`, given `const TableWrite* writes`,
// `const std::uint32_t* count` and `std::uint32_t* tables`:
//
//   const UpdateTablesArgs args{
//       .writes = writes, .count = count, .tables = tables, .table_stride = 128};
//   return launch_of(args, args.shape(64));  // up to 64 writes
#pragma once

#include "forge/gpu/kernels/kernel_launch.h"
#include "forge/gpu/kernels/step_data.h"

namespace forge::gpu {

struct UpdateTablesArgs {
  static constexpr int kThreads = 128;
  static constexpr BlockResources kResources{.registers = 12};
  const TableWrite* writes;    ///< [*count]
  const std::uint32_t* count;  ///< number of writes
  std::uint32_t* tables;       ///< [max_batch_size][table_stride]
  std::uint32_t table_stride;

  static simt::LaunchShape shape(int writes_max) {
    return {{ceil_div(writes_max, kThreads), 1, 1}, kThreads};
  }
};

}  // namespace forge::gpu
