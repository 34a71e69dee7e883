// BlockRunner: runs the threads of one block after the other, each a fiber, so that they meet where
// the kernel says. One per host thread; it keeps its stacks for all blocks to come.
//
//   select()   -> the ready thread of highest priority: a warp, then a lane of it
//   arrive...  -> the thread waits; the last one to come makes all ready again
//   hand_over  -> select(), and switch to its fiber
//
// A thread gets a fiber when it first runs and keeps it while it waits. One that returns leaves its
// fiber to the next thread, so a kernel without meeting points runs as a loop, without a switch.
//
// If no thread is ready and not all have returned, that is a deadlock, which divergence.h puts into
// words.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "copy_queue.h"
#include "fiber.h"
#include "forge/numerics/matrix_step.h"
#include "forge/simt/machine.h"
#include "forge/simt/meeting.h"
#include "ready_set.h"
#include "shared_arena.h"
#include "thread_state.h"

namespace forge::simt {

/// A launch, as those that run its blocks need it.
struct LaunchInput {
  const char* kernel = "";
  Entry entry = nullptr;
  LaunchShape shape;
  const void* args = nullptr;
  std::optional<std::uint64_t> seed;
  std::optional<Site> left_out;
  numerics::StepModel step_model = numerics::kMmaSm90;
  Heartbeat* heartbeat = nullptr;
};

class BlockRunner {
 public:
  BlockRunner();

  /// Returns: the fault that stopped the block. `observer` may be null; it is borrowed.
  std::optional<KernelFault> run(const LaunchInput& launch, long long block,
                                 BlockObserver* observer);

  /// The runner of the kernel that runs on this host thread.
  static BlockRunner& active();

  // The words of meeting.h.
  detail::Handover meet_block(Site site);
  detail::Handover meet_warp(Site site);
  detail::Handover exchange(std::uint64_t value, Site site);
  detail::Handover reduce(float value, Collective kind, Site site);
  detail::Handover exchange_rows(const detail::MatrixRow& row, Site site);
  detail::Handover multiply(const detail::MatrixShare& share, MatrixType type, Site site);
  SharedMemory declare_shared(const SharedArray& array);

  // The words of async_copy.h.
  void start_copy(const detail::AsyncCopy& copy);
  void commit_copies();
  void wait_copies(int pending);

  bool is_left_out(Site site) const {
    return site.line == left_out_line_ && *launch_.left_out == site;
  }

 private:
  /// A lane can be one meeting ahead of others, which still read what the last one brought, but not
  /// two. So there are two exchanges, which are used in turns.
  struct Warp {
    ReadySet lanes;
    int begin = 0;  ///< its first thread
    int arrived = 0;
    bool mixed = false;                  ///< lanes have come for different things
    const ThreadState* first = nullptr;  ///< the first lane to arrive
    std::uint32_t meeting = 0;
    std::array<detail::Exchange, 2> exchanges;
  };

  static void fiber_body();
  void reset(const LaunchInput& launch, long long block);
  void finish_observer();
  void draw_priorities(long long block);
  void run_thread();
  void check_copies_of_thread();
  void finish_thread();
  void ready_all();
  CopyQueue& copies_of_thread();
  bool arrive_in_warp(Collective kind, Site site);
  detail::Context hand_over();
  void select();
  void change_priorities();
  void draw_change();
  Fiber& idle_fiber();
  [[noreturn]] void stop(KernelFault fault);

  LaunchInput launch_;
  int left_out_line_ = -1;
  BlockObserver* observer_ = nullptr;
  std::optional<KernelFault> fault_;

  std::vector<ThreadState> threads_;
  std::array<Warp, ReadySet::kSizeMax> warps_;
  ReadySet ready_warps_;
  ThreadState* thread_ = nullptr;  ///< the running one
  Warp* warp_ = nullptr;           ///< its warp
  int live_ = 0;                   ///< threads that have not returned
  int arrived_ = 0;                ///< threads at the barrier of the block
  bool mixed_ = false;             ///< they are at different barriers
  const ThreadState* first_ = nullptr;

  Random random_;
  std::int64_t steps_to_change_ = 0;  ///< until priorities change; never without a seed

  std::vector<CopyQueue> copies_;  ///< by thread, in a block that copies
  SharedArena arena_;
  Fiber main_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
};

}  // namespace forge::simt
