// ModelDrafts: how many drafts come next, by the text of policy.h once more, as plainly as it can
// be said: every draft is remembered. Part of ModelScheduler.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "forge/core/scheduler_config.h"

namespace forge::testing {

class ModelDrafts {
 public:
  /// After a step of the sequence that kept `kept` of `drafts` drafts.
  std::uint32_t length_after(std::uint32_t drafts, std::uint32_t kept,
                             const SchedulerConfig& config) {
    if (config.draft_lengths == DraftLengths::fixed) return 64;
    if (drafts > 0 && kept > 0 && tokens_without_ >= 64) judged_.clear();
    tokens_without_ = drafts > 0 ? 0 : tokens_without_ + 1;
    for (std::uint32_t i = 0; i < drafts && i <= kept; ++i) judged_.push_back(i < kept);
    const auto window = std::min<std::ptrdiff_t>(32, std::ssize(judged_));
    const auto good = std::count(judged_.end() - window, judged_.end(), true);
    if (window == 0) return 4;
    const std::ptrdiff_t bad = window - good;
    const std::ptrdiff_t all = window < 8 ? 8 : window;
    if ((all - bad) * 100 < all * config.draft_break_even) {
      return tokens_without_ >= 64 ? 1 : 0;
    }
    for (std::uint32_t length = 1; length < 8; ++length) {
      if (length * bad >= window) return length;
    }
    return 8;
  }

 private:
  std::vector<bool> judged_;  // drafts, the last one at the end: was it kept?
  std::uint32_t tokens_without_ = 0;
};

}  // namespace forge::testing
