#include "arrivals.h"

#include <algorithm>

namespace forge::apps {

double VirtualClock::us_of(const StepPlan& plan) const {
  std::uint64_t tokens = 0;
  for (const Slice& slice : plan.slices) tokens += slice.count;
  return step_us + token_us * static_cast<double>(tokens);
}

std::optional<double> Arrivals::next_us() const {
  if (done()) return std::nullopt;
  return static_cast<double>(workload_[next_].arrival_us);
}

void Arrivals::wait_until(double us) { now_us_ = std::max(now_us_, us); }

std::optional<std::size_t> Arrivals::take() {
  if (done() || static_cast<double>(workload_[next_].arrival_us) > now_us_) return std::nullopt;
  return next_++;
}

}  // namespace forge::apps
