// StepTimes: when what of a step happened, by a clock that never goes back.
#pragma once

#include <chrono>

namespace forge::engine {

using TimePoint = std::chrono::steady_clock::time_point;

/// begun <= planned <= executed <= ended.
struct StepTimes {
  TimePoint begun;
  TimePoint planned;   ///< the plan is made and goes to the target
  TimePoint executed;  ///< the target has answered
  TimePoint ended;     ///< the answer is committed, and recorded if the run is
};

}  // namespace forge::engine
