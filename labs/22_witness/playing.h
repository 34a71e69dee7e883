// Runs by the schedules of labs (scheduling.h): of the scheduler that the program is linked with,
// or, where a case has "plans", of another one that planned those when it was asked the same.
//
// Beside what a schedule has there, a case may have "until", a number of steps after which the run
// is over, and a step "clear" (true: all cached prefixes are forgotten before it). Nothing is
// looked at on the way, so that a scheduler that is broken shows what it does.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "forge/core/scheduler.h"
#include "rows.h"
#include "scheduling.h"
#include "witness.h"

namespace forge::labs::witness {

/// Steps of a run, at most: everybody comes to an end long before, or never.
inline constexpr std::size_t kStepsMax = 100;

/// A run so far.
class Player {
 public:
  explicit Player(const Json& input) : schedule_(schedule_of(input)) {
    run_.config = schedule_.config;
    for (const Json& step : input.at("steps")) clears_.push_back(step.value("clear", false));
    if (input.contains("plans")) rows_ = input.at("plans").get<std::vector<std::string>>();
    until_ = std::min<std::size_t>(kStepsMax, input.value("until", kStepsMax));
  }

  Run play() {
    if (rows_.empty()) {
      play_scheduler();
    } else {
      for (const std::string& row : rows_) begin_step([&](auto&) { return plan_of(row); });
    }
    return run_;
  }

 private:
  void play_scheduler() {
    Scheduler scheduler(schedule_.config);
    while (run_.steps.size() < until_ &&
           (run_.steps.size() < schedule_.steps.size() || scheduler.has_work())) {
      begin_step([&](const Step& step) {
        for (const Submission& submission : step.submitted) {
          const auto seq = scheduler.submit(submission.request);
          if (!seq) throw std::invalid_argument(to_string(seq.error()));
        }
        for (const SeqId seq : step.cancelled) scheduler.cancel(seq);
        if (run_.steps.size() <= clears_.size() && clears_[run_.steps.size() - 1]) {
          scheduler.clear_prefix_cache();
        }
        return scheduler.schedule();
      });
      // The last step need not be one that the scheduler survives.
      const Step& step = run_.steps.back();
      if (run_.steps.size() < until_) scheduler.commit(step.plan, step.result);
    }
  }

  template <class Plans>
  void begin_step(Plans plans) {
    const std::size_t at = run_.steps.size();
    const ScheduledStep asked = at < schedule_.steps.size() ? schedule_.steps[at] : ScheduledStep();
    Step& step = run_.steps.emplace_back();
    for (const Request& request : asked.submit) step.submitted.push_back({SeqId{++seqs_}, request});
    step.cancelled = asked.cancel;
    step.plan = plans(step);
    step.result = result_of(step.plan, asked.drafts);
  }

  Schedule schedule_;
  std::vector<bool> clears_;  // of the steps of the schedule
  std::vector<std::string> rows_;
  std::size_t until_ = 0;
  std::uint64_t seqs_ = 0;
  Run run_;
};

inline Run run_of(const Json& input) { return Player(input).play(); }

}  // namespace forge::labs::witness
