// The parts of check_invariants(), numbered as in invariants.h.
#pragma once

#include <optional>
#include <string>

#include "forge/core/check.h"
#include "forge/core/scheduler.h"

namespace forge::detail {

using Violation = std::optional<std::string>;

template <class... Parts>
Violation violated(int number, const Parts&... parts) {
  return "invariant " + std::to_string(number) + ": " + concat(parts...);
}

Violation check_memory(const Scheduler& scheduler);  ///< 1 to 4, 11
Violation check_plan(const Scheduler& scheduler);    ///< 5 to 8

}  // namespace forge::detail
