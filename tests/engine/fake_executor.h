// FakeExecutor: a target without a model. The output of a sequence is a fixed text, byte by byte,
// so that tests know every token; it can fail at a step and wait for permission to go on.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "forge/core/executor.h"
#include "forge/text/byte_tokeniser.h"

namespace forge::testing {

class FakeExecutor : public Executor {
 public:
  /// Every sequence says `text`, then eos.
  explicit FakeExecutor(std::string text) : text_(std::move(text)) {}

  /// Accept up to this many drafts a slice (they are always right).
  std::uint32_t drafts = 0;
  /// Steps at which execute() fails.
  std::set<std::uint64_t> failing_steps;
  bool always_fails = false;

  void begin(SeqId seq, const Request& request) override {
    sequences_[seq] = {request.prompt.size(), request.ignore_eos};
  }

  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    wait_for_permission();
    for (const Finish& finish : plan.finished) sequences_.erase(finish.seq);
    if (always_fails || failing_steps.contains(plan.step.value)) {
      return tl::unexpected(ExecutionError{"the device is on fire"});
    }
    result.clear();
    result.step = plan.step;
    for (const Slice& slice : plan.slices) answer(slice, result);
    return {};
  }

  std::size_t known_sequences() const { return sequences_.size(); }

  /// From now on each step waits for release() once.
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release(int steps) {
    const std::lock_guard lock(mutex_);
    permits_ += steps;
    released_.notify_all();
  }
  void release_all() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    released_.notify_all();
  }

 private:
  struct Sequence {
    std::size_t prompt_tokens = 0;
    bool ignore_eos = false;
  };

  void wait_for_permission() {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [this] { return !held_ || permits_ > 0; });
    if (held_) --permits_;
  }

  void answer(const Slice& slice, StepResult& result) {
    const Sequence& sequence = sequences_.at(slice.seq);
    SliceResult r{.seq = slice.seq,
                  .first_token = static_cast<std::uint32_t>(result.tokens.size()),
                  .drafts = drafts};
    const std::size_t known = slice.first + slice.count - slice.drafts;
    for (std::uint32_t i = 0; i <= slice.drafts && r.signal == FinishSignal::none; ++i) {
      const std::size_t said = known + i - sequence.prompt_tokens;
      const bool ends = said >= text_.size() && !sequence.ignore_eos;
      result.tokens.push_back(
          ends ? ByteTokeniser::kEos
               : ByteTokeniser::token_of(static_cast<unsigned char>(text_[said % text_.size()])));
      ++r.token_count;
      if (ends) r.signal = FinishSignal::eos;
    }
    result.slices.push_back(r);
  }

  std::string text_;
  std::map<SeqId, Sequence> sequences_;
  std::mutex mutex_;
  std::condition_variable released_;
  bool held_ = false;
  int permits_ = 0;
};

}  // namespace forge::testing
