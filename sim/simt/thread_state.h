// What a thread of a block is doing, for those that wait for it.
#pragma once

#include <cstdint>

#include "forge/simt/meeting.h"
#include "forge/simt/observer.h"

namespace forge::simt {

class Fiber;

struct ThreadState {
  enum class Doing : std::uint8_t { ready, in_barrier, in_collective, returned };

  Fiber* fiber = nullptr;  ///< none before it first runs
  Doing doing = Doing::ready;
  Collective collective = Collective::sync_warp;  ///< if in one
  Site site;                                      ///< where it waits, if it does
};

}  // namespace forge::simt
