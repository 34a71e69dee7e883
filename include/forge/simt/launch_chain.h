// LaunchChain: launches of a stream that overlap, and what each of them touches.
//
// A launch that overlaps (programmatic dependent launch) may begin as soon as all blocks of the
// launch before have called start_next(), or ended. Until a thread calls wait_for_previous(), it
// runs beside that launch, and beside all that may run beside that one in turn: back to the last
// launch that did not overlap. After the wait the launch before has ended, and whatever that one
// has waited for.
//
//   launch               A      B overlaps           C overlaps
//   before its wait      -      runs beside A        beside A and B
//   after it             -      beside nothing       beside A, if a thread of B has not waited
//
// What runs side by side must not touch the same bytes, unless both read. A Checker (checker.h)
// that has a chain looks at each access for that; the machine itself runs one launch after the
// other, so that the bits are those of a program without this mistake.
//
// Source: CUDA C++ Programming Guide, programmatic dependent launch and synchronization.
//
// Thread contract: find() from several threads while a launch runs, the other functions in between.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "forge/simt/observer.h"

namespace forge::simt {

class LaunchChain {
 public:
  LaunchChain();
  ~LaunchChain();
  LaunchChain(const LaunchChain&) = delete;
  LaunchChain& operator=(const LaunchChain&) = delete;

  /// Begins a launch. If it does not overlap, all before it have ended.
  void begin(std::string kernel, bool overlaps);

  /// Everything before has ended: of a copy, or when somebody has waited for the stream.
  void end_all();

  /// An access by a launch that may still run.
  struct Touch {
    std::string kernel;
    int thread = 0;
    Site site;
    AccessKind kind = AccessKind::read;
  };
  /// What an access of the running launch to [address, address + bytes) is not ordered after.
  /// `waited`: its thread has; then that is of a launch for which one between has not.
  std::optional<Touch> find(std::uintptr_t address, std::size_t bytes, AccessKind kind,
                            bool waited) const;

  /// Notes that the running launch has touched a word.
  void note(std::uintptr_t address, std::size_t bytes, AccessKind kind, int thread,
            const Site& site);
  /// Ends the running launch. `waited`: all of its threads have.
  void end(bool waited);

 private:
  struct Touched;
  std::unique_ptr<Touched> touched_;
};

}  // namespace forge::simt
