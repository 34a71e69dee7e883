// Observer: is told about every access and every meeting point of an instrumented kernel.
//
// The machine runs blocks on several host threads; each block has a BlockObserver of its own, which
// needs no locks. Blocks are begun in any order and from any host thread, and handed back in
// ascending order, so that what an observer sums up does not depend on the number of threads.
//
//   begin_block(b) -> BlockObserver --access, barrier, ...--> end_block(b, observer)
//
// The race and bounds checker (checker.h) and the traffic counter (traffic.h) are observers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "forge/core/names.h"
#include "forge/simt/shape.h"

namespace forge::simt {

/// A place in the source of a kernel. `file` is a literal and lives for ever.
struct Site {
  const char* file = "";
  int line = 0;

  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  friend bool operator==(const Site& a, const Site& b) {
    return a.line == b.line && (a.file == b.file || std::string_view(a.file) == b.file);
  }
};
/// "rms_norm.cuh:42", without the folder.
std::string to_string(const Site& site);

enum class Space : std::uint8_t { global, shared };
/// add: to an integer, at once (shared_add). Sums do not depend on the order of adds.
enum class AccessKind : std::uint8_t { read, write, add };
constexpr Names<AccessKind> names_of(AccessKind) { return {"read", "write", "add"}; }

/// One lane's access of `bytes` bytes. Addresses of shared memory are offsets in the block's arena,
/// of global memory host addresses in the simulator's memory.
struct Access {
  Space space = Space::global;
  AccessKind kind = AccessKind::read;
  std::uint16_t bytes = 0;
  std::uint16_t alignment = 1;      ///< of the type; 16 for load4 and store4
  int thread = 0;                   ///< number in the block
  const std::byte* data = nullptr;  ///< where the simulator has it
  std::uintptr_t address = 0;
  /// Where the pointer came from: the begin of the shared array, the address given to global().
  std::uintptr_t base = 0;
  Site site;
};

/// Is told what one block does. It is called on the host thread that runs the block, in the order
/// in which the block's fibers run. A fiber runs alone from one meeting point to the next.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;

  /// Called before the access happens. Throws KernelFault (machine.h) to stop the launch.
  virtual void access(const Access& access) = 0;

  /// Called when an asynchronous copy is started: `from` is read, unless it is null for zeros, and
  /// `to` is written before the copy has arrived. By default two accesses.
  virtual void copy_started(const Access* from, const Access& to) {
    if (from != nullptr) access(*from);
    access(to);
  }

  /// Called when its thread has waited for it.
  virtual void copy_arrived(const Access& /*to*/) {}

  /// Called when its thread has returned and not waited for it. Throws as access() does.
  virtual void copy_abandoned(const Access& /*to*/) {}

  /// Called when a thread has waited for the launch before (launch_chain.h).
  virtual void waited_for_previous(int /*thread*/) {}

  /// Called when all threads of the block have met, before any goes on.
  virtual void block_barrier(Site) {}

  /// Called when all lanes of `warp` have met, in sync_warp or in a collective.
  virtual void warp_barrier(int /*warp*/, Site) {}

  /// Called when a shared array is declared, once for each block: [offset, offset + bytes) of the
  /// arena.
  virtual void shared_array(const char* /*name*/, std::size_t /*offset*/, std::size_t /*bytes*/) {}

  /// Called when all threads have returned, or those that are left will never go on. Throws
  /// KernelFault, which then takes the place of the fault that has stopped the block, if any.
  virtual void finished() {}
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual std::unique_ptr<BlockObserver> begin_block(const LaunchShape& shape, long long block) = 0;
  /// Called in ascending order of blocks, for one block at a time.
  /// Throws KernelFault to stop the launch: a fault of this block.
  virtual void end_block(long long block, std::unique_ptr<BlockObserver> observer) = 0;
};

}  // namespace forge::simt
