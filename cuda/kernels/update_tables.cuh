// update_tables: brings the block tables on the device up to date with a plan's changes.
//
//   grid      ceil(writes / 128) blocks of 128 threads, a thread a write
//   memory    12 bytes a thread, consecutive in a warp; one word written wherever the entry lies
//   bits      moved, not computed. No two writes of a step name the same entry
#pragma once

#include "forge/gpu/kernels/update_tables.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

FORGE_KERNEL(gpu::UpdateTablesArgs::kThreads) update_tables(gpu::UpdateTablesArgs a) {
  const auto i = static_cast<std::uint32_t>(block().x * threads() + thread());
  const std::uint32_t count = global(a.count)[0];
  if (i >= count) return;
  const gpu::TableWrite write = global(a.writes)[i];
  global(a.tables)[std::uint64_t{write.table} * a.table_stride + write.index] = write.block;
}

}  // namespace FORGE_KERNELS
