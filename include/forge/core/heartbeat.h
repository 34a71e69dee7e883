// Heartbeat: a count that grows while work gets on, for whoever watches from another thread.
//
// A step of a large model may take minutes, and one that will never end looks the same from
// outside. So a target beats within it: a CPU at each operation of each layer, the simulated GPU at
// each thread block. The engine's loop adds its steps (EngineLoop::progress); a server whose count
// stands still while there is work is stalled (serve/progress_watch.h).
//
// Thread contract: any thread may beat and any may read. Nothing is ordered by it.
#pragma once

#include <atomic>
#include <cstdint>

namespace forge {

class Heartbeat {
 public:
  void beat() { beats_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t beats() const { return beats_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> beats_{0};
};

}  // namespace forge
