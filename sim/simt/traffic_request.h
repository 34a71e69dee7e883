// What the lanes of a warp want from memory at once, and what that costs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "forge/simt/observer.h"

namespace forge::simt {

/// One load or store of a warp.
struct WarpRequest {
  Site site;
  Space space = Space::global;
  AccessKind kind = AccessKind::read;
  int bytes = 0;            ///< of a lane: 1, 2, 4, 8 or 16
  std::uint32_t lanes = 0;  ///< bit i: lane i takes part
  // These are set for lanes that take part.
  std::array<std::uintptr_t, kWarpSize> address;
  std::array<std::uint32_t, kWarpSize> piece;  ///< pieces of this lane that came before
};

/// Bytes of one sector of global memory: bit i is byte 32 * sector + i.
struct SectorBytes {
  std::uintptr_t sector = 0;
  std::uint32_t bytes = 0;
};

/// The sectors that the request touches, ascending, each once. `out` is overwritten.
void find_sectors(const WarpRequest& request, std::vector<SectorBytes>& out);

struct Wavefronts {
  int needed = 0;
  int least = 0;  ///< without conflicts: one for each phase that has lanes
};
/// The wavefronts of a request of shared memory. Lanes of a phase that read or write the same word
/// are served together.
Wavefronts count_wavefronts(const WarpRequest& request);

/// Puts the accesses of a warp's lanes together to requests. Between two drains, the k-th access
/// that each lane makes in one way at one place belongs to one request.
class WarpRequests {
 public:
  void add(int lane, const Access& access);

  /// The number of requests since the last drain that the lane takes part in, one for each piece of
  /// an access.
  std::uint32_t pieces_of(int lane) const { return pieces_[static_cast<std::size_t>(lane)]; }

  /// Hands over the requests, in the order in which they were begun, and forgets them.
  template <class Function>
  void drain(Function&& take) {
    for (const WarpRequest& request : requests_) take(request);
    requests_.clear();
    streams_.clear();
    pieces_.fill(0);
  }

 private:
  /// The accesses of one kind at one place.
  struct Stream {
    Access first;
    std::array<std::uint32_t, kWarpSize> count{};  ///< accesses of each lane so far
    std::vector<std::uint32_t> requests;           ///< indices into requests_
  };

  Stream& stream_of(const Access& access);

  std::vector<Stream> streams_;
  std::vector<WarpRequest> requests_;
  std::array<std::uint32_t, kWarpSize> pieces_{};
  std::size_t last_ = 0;  ///< stream of the last access
};

}  // namespace forge::simt
