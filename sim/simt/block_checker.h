// BlockChecker: the Checker's view of one block (forge/simt/checker.h). Its shadow of global memory
// goes on to the Checker, which compares blocks.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "forge/simt/launch_chain.h"
#include "forge/simt/machine.h"
#include "forge/simt/memory_map.h"
#include "forge/simt/observer.h"
#include "happens_before.h"
#include "shadow_memory.h"

namespace forge::simt {

/// Numbers source lines in 16 bits.
class SiteTable {
 public:
  std::uint16_t number(const Site& site) {
    if (last_ < sites_.size() && same(sites_[last_], site)) return last_;
    for (last_ = 0; last_ < sites_.size(); ++last_) {
      if (same(sites_[last_], site)) return last_;
    }
    sites_.push_back(site);
    return last_;
  }
  const Site& operator[](std::uint16_t number) const { return sites_[number]; }

 private:
  static bool same(const Site& a, const Site& b) { return a.line == b.line && a.file == b.file; }

  std::vector<Site> sites_;
  std::uint16_t last_ = 0;
};

/// A stretch of memory that has a name.
struct NamedMemory {
  std::string name;  ///< "shared array 'tile'", "'kv_pool'"
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;

  bool holds(std::uintptr_t address, std::size_t count) const {
    return address - begin <= bytes && count <= bytes - (address - begin);
  }
  /// "4 bytes at offset 64 of 'x' (64 bytes)"
  std::string describe(std::uintptr_t address, std::size_t count) const;
};

class BlockChecker : public BlockObserver {
 public:
  /// `chain` may be null; it is borrowed.
  BlockChecker(const MemoryMap& memory, const LaunchShape& shape, const LaunchChain* chain)
      : memory_(memory),
        shape_(shape),
        chain_(chain),
        waited_(static_cast<std::size_t>(shape.threads)) {}

  void access(const Access& access) override;
  void copy_started(const Access* from, const Access& to) override;
  void copy_arrived(const Access& to) override;
  void copy_abandoned(const Access& to) override;
  void waited_for_previous(int thread) override {
    waited_[static_cast<std::size_t>(thread)] = true;
  }
  void block_barrier(Site) override;
  void warp_barrier(int warp, Site) override { clock_.warp_barrier(warp); }
  void shared_array(const char* name, std::size_t offset, std::size_t bytes) override;
  void finished() override;

  ShadowMemory<AccessHistory>& global_memory() { return global_; }
  const Site& site(std::uint16_t number) const { return sites_[number]; }
  const LaunchShape& shape() const { return shape_; }
  bool all_waited() const {
    return std::ranges::all_of(waited_, [](bool waited) { return waited; });
  }

 private:
  const NamedMemory& memory_of(const Access& access);
  [[noreturn]] void stop(FaultKind kind, const Access& access, std::string detail);
  [[noreturn]] void out_of_bounds(const Access& access, const NamedMemory* memory);
  void check_races(const Access& access, const NamedMemory& memory);
  void check_copies(const Access& access, const NamedMemory& memory);
  void check_launches(const Access& access, const NamedMemory& memory);

  const MemoryMap& memory_;
  const LaunchShape shape_;
  const LaunchChain* const chain_;
  std::vector<bool> waited_;  ///< by thread: for the launch before
  std::vector<NamedMemory> shared_arrays_;
  std::vector<NamedMemory> buffers_;  ///< ranges of memory_ that pointers were made from
  std::size_t last_buffer_ = 0;
  SiteTable sites_;
  BlockClock clock_;
  /// The first read of shared memory that no thread has written. It waits for the next barrier: if
  /// a thread writes there before, the fault is a race instead.
  std::optional<KernelFault> uninitialised_;
  bool copies_ = false;           ///< has the block started a copy?
  ShadowMemory<Event> arriving_;  ///< shared memory: the start of the copy on its way there
  ShadowMemory<AccessHistory> shared_;
  ShadowMemory<AccessHistory> global_;
};

}  // namespace forge::simt
