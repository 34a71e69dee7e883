// Launch: the blocks of one launch, dealt to the host threads that ask for one, and what came of
// them. Whatever the number of threads, the fault that is kept is that of the lowest block that has
// one, and observers get blocks back in ascending order.
//
// Thread contract: run_blocks() from several threads, each with its runner; the other functions
// while no thread is in run_blocks().
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "block_runner.h"
#include "forge/simt/machine.h"

namespace forge::simt {

class Launch {
 public:
  /// `observer` may be null; it is borrowed.
  Launch(const LaunchInput& input, Observer* observer);

  long long blocks() const { return input_.shape.blocks(); }

  /// Takes blocks that no other thread has taken and runs them, until none is left.
  void run_blocks(BlockRunner& runner);

  std::optional<KernelFault> take_fault() { return std::move(fault_); }

 private:
  void run_block(BlockRunner& runner, long long block);
  void note_fault(long long block, KernelFault fault);
  void hand_back(long long block, std::unique_ptr<BlockObserver> observer);

  const LaunchInput input_;
  Observer* const observer_;
  std::vector<std::uint32_t> order_;  ///< order of the blocks; empty if ascending
  std::atomic<long long> next_{0};    ///< position in the order
  std::atomic<long long> end_;        ///< blocks from here on need not run: one below has a fault

  std::mutex mutex_;  ///< guards the members below
  std::optional<KernelFault> fault_;
  std::map<long long, std::unique_ptr<BlockObserver>> done_;
  long long handed_back_ = 0;
};

}  // namespace forge::simt
