// WarpLog: everything that one warp of one block does with memory and with other threads, in order
// and with the values. It is for a person who wants to see what the lanes of a warp do at a line.
//
// Lanes are put together to requests as in traffic.h.
//
// Thread contract: as Observer. One launch per logger.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "forge/simt/observer.h"

namespace forge::simt {

/// A request of the warp, or a point where its lanes have met.
struct WarpEvent {
  enum class Kind : std::uint8_t { request, warp_meeting, block_meeting };
  /// What a lane that takes part in a request does.
  struct Lane {
    std::uintptr_t address = 0;         ///< as Access::address
    std::array<std::byte, 16> value{};  ///< the bytes that are read or written
  };

  Kind kind = Kind::request;
  Site site;
  // The rest is set for requests only.
  Space space = Space::global;
  AccessKind access = AccessKind::read;
  int bytes = 0;            ///< of a lane, 1 to 16
  std::uint32_t lanes = 0;  ///< bit i: lane i takes part
  std::array<Lane, kWarpSize> lane{};
};

/// What a request costs (traffic.h): sectors of global memory, or wavefronts of shared memory.
struct RequestCost {
  int sectors = 0;
  int wavefronts = 0;
};
/// Requires: `event` is a request.
RequestCost cost_of(const WarpEvent& event);

struct SharedArrayPlace {
  std::string name;
  std::size_t offset = 0;  ///< in the block's arena
  std::size_t bytes = 0;
};

struct WarpLog {
  std::vector<WarpEvent> events;
  std::vector<SharedArrayPlace> shared;
};

class WarpLogger : public Observer {
 public:
  /// Logs warp number `warp` of the launch's block number `block`.
  WarpLogger(long long block, int warp);
  ~WarpLogger() override;

  std::unique_ptr<BlockObserver> begin_block(const LaunchShape& shape, long long block) override;
  void end_block(long long block, std::unique_ptr<BlockObserver> observer) override;

  /// Empty if there is no such block or warp. Requires: all blocks have ended.
  const WarpLog& log() const { return log_; }

 private:
  long long block_;
  int warp_;
  WarpLog log_;
};

}  // namespace forge::simt
