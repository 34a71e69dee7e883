// Traffic: what a launch asks of the memory of a GPU, counted access by access, line by line.
//
// A GPU does not move single values. The 32 lanes of a warp that execute one load make one request;
// the request takes as many 32-byte sectors as its addresses touch (4 if 32 floats lie side by
// side, 32 if each lies elsewhere), and in shared memory as many wavefronts as the busiest of the
// 32 banks has different words (1, or up to 32: a bank conflict). That is what is counted here:
//
//   lanes --grouped--> requests --> sectors    -> L1 of the block -> L2 -> device memory
//                              \--> wavefronts    of shared memory
//
// Fibers run one after the other, so lanes are put together afterwards: between two points where
// the lanes meet, the k-th access of each lane at one source line is one request. That is what a
// warp does whose lanes run in step. Wider elements move in several requests: a struct by its
// alignment, 8 and 16 bytes of shared memory in 2 and 4 phases of a half and a quarter of the warp
// (a real GPU may serve phases together that read the same words).
//
// The caches are simple: fully associative, of 32-byte sectors, the least recently used one goes.
// Each block has an L1 of its own that starts empty and that stores write through; L2 starts empty,
// sees the blocks in ascending order, one after the other, and is written back at the end. Real
// caches are indexed, shared by blocks that run at the same time, and warm.
//
// Counts depend on the kernel and its inputs alone, not on host addresses (buffers are aligned to
// 256 bytes) or the number of host threads.
//
// Thread contract: as Observer. One launch per counter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "forge/simt/observer.h"

namespace forge::simt {

inline constexpr int kSectorBytes = 32;
inline constexpr int kBanks = 32;  ///< of shared memory, 4 bytes wide each

struct CacheSizes {
  std::uint64_t l1_bytes = 0;  ///< of each block
  std::uint64_t l2_bytes = 0;
};

/// All requests of one kind that one line has made.
struct LineTraffic {
  Site site;
  Space space = Space::global;
  AccessKind kind = AccessKind::read;
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;             ///< lanes that took part, of 32 in each request
  std::uint64_t bytes = 0;             ///< bytes that they asked for
  std::uint64_t sectors = 0;           ///< of global memory
  std::uint64_t bytes_used = 0;        ///< of these sectors: what lanes ask for, once per request
  std::uint64_t wavefronts = 0;        ///< of shared memory
  std::uint64_t wavefronts_least = 0;  ///< as many as without conflicts

  double sectors_per_request() const;
  double lanes_per_request() const;
  /// The share of the sectors' bytes that some lane wants.
  double used() const;
};

/// A place where threads meet.
struct LineMeetings {
  Site site;
  bool whole_block = false;  ///< sync_block; otherwise a warp: sync_warp or a collective
  std::uint64_t count = 0;   ///< how often a block or a warp met
};

struct SharedArrayUse {
  std::string name;
  std::size_t bytes = 0;
};

/// A level of memory: bytes that crossed into it from above.
struct LevelTraffic {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::uint64_t total() const { return read + written; }
};

struct Traffic {
  std::vector<LineTraffic> lines;      ///< by file, line, space, kind
  std::vector<LineMeetings> meetings;  ///< by file, line
  std::vector<SharedArrayUse> shared;  ///< arrays of a block, in the order of declaration

  // Bytes of global memory, from what the lanes want down to device memory.
  LevelTraffic asked;         ///< by the lanes
  LevelTraffic l1;            ///< in sectors
  LevelTraffic l2;            ///< likewise: what L1 did not have, and all stores
  LevelTraffic memory;        ///< likewise: what L2 did not have, and what it had to write back
  LevelTraffic once;          ///< each byte once, however often it is asked for
  LevelTraffic once_a_block;  ///< each byte once for each block that asks

  std::size_t shared_bytes() const;  ///< of a block
};

/// Counts one launch. After Machine::run, result() has all of it.
class TrafficCounter : public Observer {
 public:
  explicit TrafficCounter(const CacheSizes& sizes);
  ~TrafficCounter() override;

  std::unique_ptr<BlockObserver> begin_block(const LaunchShape& shape, long long block) override;
  void end_block(long long block, std::unique_ptr<BlockObserver> observer) override;

  /// Requires: all blocks have ended.
  Traffic result() const;

 private:
  struct Sums;
  CacheSizes sizes_;
  std::unique_ptr<Sums> sums_;
};

}  // namespace forge::simt
