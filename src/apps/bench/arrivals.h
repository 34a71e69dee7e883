// Arrivals: when the requests of a workload come, on a virtual clock.
//
// A step costs step_us plus token_us for each token that runs, or what a simulated device says, and
// an idle clock jumps to the next arrival. What arrives before which step is thus a function of the
// workload and the plans, the same on any machine.
//
// Borrows the workload. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <optional>

#include "forge/core/step_plan.h"
#include "workload.h"

namespace forge::apps {

struct VirtualClock {
  double step_us = 10'000;  ///< a step's fixed cost
  double token_us = 50;     ///< a token's share: prompt, decode or draft

  /// What the step of `plan` takes.
  double us_of(const StepPlan& plan) const;
};

class Arrivals {
 public:
  Arrivals(const Workload& workload, const VirtualClock& clock)
      : workload_(workload), clock_(clock) {}

  /// Have all arrived?
  bool done() const { return next_ == workload_.size(); }

  /// When the next one comes, or nothing if all have.
  std::optional<double> next_us() const;

  /// Goes on to the next arrival, if that is still to come. Requires: not done().
  void wait() { wait_until(*next_us()); }

  /// Goes on to `us`, if that is still to come.
  void wait_until(double us);

  /// The next request (its index) that has arrived and was not returned yet.
  std::optional<std::size_t> take();

  /// Lets the time pass that `plan` takes.
  void run(const StepPlan& plan) { pass(clock_.us_of(plan)); }

  void pass(double us) { now_us_ += us; }

  double now_us() const { return now_us_; }

 private:
  const Workload& workload_;
  VirtualClock clock_;
  double now_us_ = 0;
  std::size_t next_ = 0;
};

}  // namespace forge::apps
