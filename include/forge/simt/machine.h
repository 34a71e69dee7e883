// Machine: runs a kernel on the CPU. Each thread of a block is a fiber (Boost.Context) that runs
// until it must wait for others; warps meet at shuffles, blocks at barriers.
//
//   launch -> blocks, spread over host threads -> warps -> 32 fibers each
//
// Without a seed, threads run in order. With one, the order is a priority schedule: warps and lanes
// have random priorities, which change at a few random points, so that a thread can overtake
// another by any distance (Burckhardt et al., "A Randomized Scheduler with Probabilistic
// Guarantees of Finding Bugs", ASPLOS 2010). A kernel that keeps the rules of dialect.h yields the
// same bits for every seed and every number of host threads.
//
// Limits: a fiber is atomic between meeting points and memory is sequentially consistent, so a
// missing fence goes unseen; there is no spinning on another thread's value.
//
// Shared memory is an arena per block, filled with NaN (0xff bytes) before each block.
//
// Thread contract: one launch at a time per Machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/numerics/matrix_step.h"
#include "forge/simt/observer.h"
#include "forge/simt/shape.h"

namespace forge {
class Heartbeat;
}

namespace forge::simt {

/// A kernel compiled for the host. It is called once for each thread.
using Entry = void (*)(const void* args);

/// The two builds of one kernel. The instrumented one reports to an Observer; under the Checker it
/// takes some 5 to 60 times as long.
struct KernelCode {
  const char* name = "";
  Entry plain = nullptr;
  Entry instrumented = nullptr;
};

enum class FaultKind : std::uint8_t {
  race,               ///< two threads, one address, no barrier between, one of them writes
  out_of_bounds,      ///< not within one allocation, or of a shared array
  misaligned,         ///< 16 bytes moved at once from or to no multiple of 16
  uninitialised,      ///< shared memory that no thread of the block has written
  pending_copy,       ///< touches what a copy is on its way to, or returns and leaves it on its way
  divergent_barrier,  ///< threads of a block wait at different barriers, or some have returned
  missing_lane,       ///< lanes of a warp at a collective, others elsewhere or returned
};

/// Why a launch was stopped. Threads are numbered within their block.
struct KernelFault {
  FaultKind kind = FaultKind::race;
  std::string kernel;
  Index3 block;
  /// The threads that did it: in a race the earlier one first; in a divergence the missing ones.
  std::vector<int> threads;
  /// Parallel to `threads`; in a divergence the one place where they are missed.
  std::vector<Site> sites;
  std::string detail;  ///< in words: array, offset, who waits where; parts end in "; "
  std::optional<std::uint64_t> seed;
};
/// Several lines that fit a terminal.
std::string to_string(const KernelFault& fault);

struct LaunchOptions {
  std::optional<std::uint64_t> seed;  ///< decides in which order threads run; none: ascending
  /// If given, the instrumented build runs and reports to it. Borrowed.
  Observer* observer = nullptr;
  /// The line of a word that is skipped, to see what it is good for: sync_block or sync_warp, and
  /// in the instrumented build also wait_copies, commit_copies, wait_for_previous, and copy_async
  /// where it would write zeros.
  std::optional<Site> left_out;
  /// How the tensor cores of the device add.
  numerics::StepModel step_model = numerics::kMmaSm90;
  Heartbeat* heartbeat = nullptr;  ///< beats at each block; borrowed
};

class Machine {
 public:
  /// Requires: host_threads >= 1. Blocks run on this many threads, the caller's among them.
  explicit Machine(int host_threads = 1);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Runs all blocks. `args` is the kernel's struct. Errors: the first fault, of the lowest block
  /// that has one; memory is then as the blocks that ran have left it.
  /// Requires: shape.threads is a multiple of 32 up to 1024, the grid is not empty, shared_bytes is
  /// at most kSharedBytesMax.
  tl::expected<void, KernelFault> run(const KernelCode& kernel, const LaunchShape& shape,
                                      const void* args, const LaunchOptions& options = {});

 private:
  struct Workers;
  std::unique_ptr<Workers> workers_;
};

}  // namespace forge::simt
