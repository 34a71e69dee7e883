#include "arrivals.h"

#include <algorithm>

namespace forge::apps {

void Arrivals::wait() {
  now_us_ = std::max(now_us_, static_cast<double>(workload_[next_].arrival_us));
}

std::optional<std::size_t> Arrivals::take() {
  if (done() || static_cast<double>(workload_[next_].arrival_us) > now_us_) return std::nullopt;
  return next_++;
}

void Arrivals::run(const StepPlan& plan) {
  std::uint64_t tokens = 0;
  for (const Slice& slice : plan.slices) tokens += slice.count;
  pass(clock_.step_us + clock_.token_us * static_cast<double>(tokens));
}

}  // namespace forge::apps
