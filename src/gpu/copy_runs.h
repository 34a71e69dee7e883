// CopyRuns: a plan's block copies, cut into runs that a kernel may do all at once.
//
// Copies are done in the order of the list: a later one may overwrite what an earlier one has read,
// or read what it has written. One launch does its copies in any order. So a run ends where the
// kind changes (other pools) and before a copy that depends on one of the run:
//
//   within 3 -> 7, within 4 -> 8, | within 7 -> 9          reads what was written
//   within 3 -> 7, | within 5 -> 3                         writes what was read
//   swap_out 3 -> h0, swap_out 4 -> h1, | swap_in h2 -> 3  another kind
//
// Owns a note for each block: the last run that read or wrote it. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/core/step_plan.h"
#include "forge/gpu/kernels.h"

namespace forge::gpu {

struct CopyRun {
  CopyKind kind = CopyKind::within;
  std::uint32_t first = 0;  ///< index in the plan's copies
  std::uint32_t count = 0;
};

class CopyRuns {
 public:
  CopyRuns(std::uint32_t num_blocks, std::uint32_t num_host_blocks, std::size_t copies_max);

  /// The runs of `copies`, in order, until the next call; their pairs are appended to `pairs`.
  /// Requires: all blocks exist.
  std::span<const CopyRun> cut(std::span<const BlockCopy> copies, std::vector<BlockPair>& pairs);

 private:
  bool depends(const BlockCopy& copy) const;
  void note(const BlockCopy& copy);

  using RunNumbers = std::vector<std::uint64_t>;

  std::uint64_t run_ = 0;  // number of the run at hand, over all calls
  RunNumbers device_read_;
  RunNumbers device_written_;
  RunNumbers host_written_;
  std::vector<CopyRun> runs_;
};

}  // namespace forge::gpu
