// Checker: an Observer that stops a launch at its first illegal access (FaultKind, machine.h).
//
//   bounds         global memory against a MemoryMap, and against the buffer that the pointer was
//                  made from; shared memory against the array
//   alignment      of what is moved at once
//   uninitialised  shared memory that no thread of the block has written before the next barrier
//   races          by a shadow of all memory that the launch touches: who wrote each word last, and
//                  who has read it since. Two accesses are ordered if a barrier of the block lies
//                  between them, or one of the warp for two lanes of it. Between blocks nothing is
//                  ordered. With a chain, accesses of launches that overlap are compared, too
//                  (launch_chain.h)
//
// A race is found in whatever order the threads happen to run: one run is enough. (The happens-
// before relation of barriers is so simple that the last writer and two readers decide exactly: see
// sim/simt/happens_before.h; compare Flanagan and Freund, "FastTrack", PLDI 2009.)
//
// Shadows take 6 bytes for each byte that a block touches, and 3 for each that the launch touches.
//
// Thread contract: an observer of one launch; `memory` does not change during it.
#pragma once

#include <memory>

#include "forge/simt/launch_chain.h"
#include "forge/simt/machine.h"
#include "forge/simt/memory_map.h"
#include "forge/simt/observer.h"

namespace forge::simt {

class Checker : public Observer {
 public:
  /// Borrows `memory`, and `chain` if the launch is one of a chain, which has begun it: accesses of
  /// launches that it runs beside are then looked at, too.
  explicit Checker(const MemoryMap& memory, LaunchChain* chain = nullptr);
  ~Checker() override;

  std::unique_ptr<BlockObserver> begin_block(const LaunchShape& shape, long long block) override;
  void end_block(long long block, std::unique_ptr<BlockObserver> observer) override;

  /// Hands what the launch has touched to the chain, and ends it there. Requires: a chain, and that
  /// the launch has ended without a fault.
  void end_launch();

 private:
  struct Footprint;
  const MemoryMap& memory_;
  LaunchChain* const chain_;
  bool all_waited_ = true;
  std::unique_ptr<Footprint> footprint_;
};

}  // namespace forge::simt
