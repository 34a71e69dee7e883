// LosableTarget: any target, which is lost when it is told to, and can be opened again.
#pragma once

#include <memory>
#include <utility>

#include "schedule_scenario.h"

namespace forge::testing {

class LosableTarget : public FallibleTarget {
 public:
  explicit LosableTarget(std::unique_ptr<FallibleTarget> target) : target_(std::move(target)) {}

  /// The next step that does not fail otherwise is lost.
  void lose_soon() { is_lost_ = true; }

  void fail_soon() override { target_->fail_soon(); }
  void begin(SeqId seq, const Request& request) override { target_->begin(seq, request); }
  std::optional<std::string> refuses(const Request& request) const override {
    return target_->refuses(request);
  }
  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    if (!is_lost_) return target_->execute(plan, result);
    auto done = target_->execute(bookkeeping_of(plan), result);
    return done ? tl::unexpected(ExecutionError{"told to be lost", true}) : done;
  }
  tl::expected<void, std::string> reopen() override {
    is_lost_ = false;
    return target_->reopen();
  }
  const SpeculationStatistics& speculation() const override { return target_->speculation(); }

 private:
  std::unique_ptr<FallibleTarget> target_;
  bool is_lost_ = false;
};

}  // namespace forge::testing
