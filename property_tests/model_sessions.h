// ModelSessions: what conversations keep, as plainly as it can be said. Written from the text of
// session_table.h and policy.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "forge/core/ids.h"
#include "model_cache.h"

namespace forge::testing {

struct ModelSession {
  std::uint32_t active = 0;
  std::uint64_t idle_since = 0;
  std::vector<ModelCache::Block> pins;
};

/// By id.
class ModelSessions : public std::map<SessionId, ModelSession> {
 public:
  std::optional<SessionId> longest_idle() const {
    std::optional<SessionId> longest;
    for (const auto& [id, session] : *this) {
      const bool longer =
          session.active == 0 && (!longest || session.idle_since < at(*longest).idle_since);
      if (longer) longest = id;
    }
    return longest;
  }
  std::optional<SessionId> first_to_end() const {
    if (const auto idle = longest_idle()) return idle;
    for (const auto& [id, session] : *this) {
      if (!session.pins.empty()) return id;
    }
    return std::nullopt;
  }
};

}  // namespace forge::testing
