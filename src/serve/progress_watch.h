// ProgressWatch: for how long work has not got on.
//
// It is told now and then how far work has come (EngineLoop::progress) and whether there is any.
// Time in which nobody looked counts for at most kGapMax: a process that was stopped, or a machine
// that slept, is not taken for a target that hangs.
//
// Thread contract: one thread at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace forge::serve {

class ProgressWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kGapMax{2};

  /// `progress`: a count that changes as work gets on.
  void look(bool has_work, std::uint64_t progress, Clock::time_point now) {
    if (!had_work_ || !has_work || progress != progress_) {
      standstill_ = Clock::duration(0);
    } else {
      standstill_ += std::min<Clock::duration>(now - looked_, kGapMax);
    }
    had_work_ = has_work;
    progress_ = progress;
    looked_ = now;
  }

  /// Work has been there and has not got on for so long, up to the last look.
  Clock::duration standstill() const { return standstill_; }

 private:
  bool had_work_ = false;
  std::uint64_t progress_ = 0;
  Clock::time_point looked_;
  Clock::duration standstill_{0};
};

}  // namespace forge::serve
