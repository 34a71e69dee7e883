// CountedDecodes: a loop's metrics, counted for steps that are decodes of so many sequences.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "forge/core/step_plan.h"
#include "forge/engine/metrics.h"

namespace forge::test {

class CountedDecodes {
 public:
  explicit CountedDecodes(std::size_t sequences) : requests_(sequences) {
    for (std::size_t i = 0; i < sequences; ++i) {
      plan_.slices.push_back({.seq = SeqId(i), .first = 100, .count = 1, .samples = true});
      result_.slices.push_back({.seq = SeqId(i), .token_count = 1});
    }
  }

  /// What the loop thread does for metrics in a step, the copy to where scrapes find it included.
  void step() {
    const engine::TimePoint begun = now_;
    now_ += std::chrono::milliseconds(5);
    metrics_.add_step(plan_, result_, {begun, begun, now_, now_});
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      metrics_.add_slice(requests_[i], plan_.slices[i], result_.slices[i], now_);
    }
    published_ = metrics_;
  }

  const engine::EngineMetrics& published() const { return published_; }

 private:
  engine::EngineMetrics metrics_;
  engine::EngineMetrics published_;
  std::vector<engine::RequestProgress> requests_;
  StepPlan plan_;
  StepResult result_;
  engine::TimePoint now_;
};

}  // namespace forge::test
