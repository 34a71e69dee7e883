// SessionView: what the policy (policy.h) knows of a session (session_table.h), as a value.
#pragma once

#include <cstddef>

#include "forge/core/ids.h"

namespace forge {

struct SessionView {
  SessionId session;
  bool active = false;            ///< a request of it is unfinished
  StepId idle_since;              ///< while it is not active
  std::size_t pinned_blocks = 0;  ///< blocks of KV that are kept for it
  friend bool operator==(const SessionView&, const SessionView&) = default;
};

}  // namespace forge
