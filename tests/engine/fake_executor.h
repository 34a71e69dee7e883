// FakeExecutor: a target without a model, for tests of what is above it.
//
// Its tokens are a function of the request and of how many came before, as a target's must be.
// Its drafts are always right. It can be stopped between steps, told to fail or to be lost, and
// slowed down, from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "forge/core/digest.h"
#include "forge/core/executor.h"
#include "forge/text/byte_tokenizer.h"

namespace forge::test {

/// The token number `produced` (0 is the first) of a request.
using NextToken = std::function<TokenId(const Request&, std::uint32_t produced)>;

/// Letters that depend on prompt, sampling and position.
inline TokenId letter_at(const Request& request, std::uint32_t produced) {
  Digest digest;
  for (const TokenId token : request.prompt) digest.add(token);
  digest.add(request.sampling.temperature > 0 ? request.sampling.seed + 1 : 0).add(produced);
  return text::ByteTokenizer::token_of(
      static_cast<unsigned char>('a' + (digest.value() >> 7) % 26));
}

/// The bytes of `text`, then eos; over and over if the request ignores eos.
inline NextToken says(std::string text) {
  return [text = std::move(text)](const Request& request, std::uint32_t produced) {
    if (produced >= text.size() && !request.ignore_eos) return text::ByteTokenizer::kEos;
    return text::ByteTokenizer::token_of(static_cast<unsigned char>(text[produced % text.size()]));
  };
}

class FakeExecutor : public Executor {
 public:
  explicit FakeExecutor(NextToken next_token = letter_at) : next_token_(std::move(next_token)) {}

  /// Drafts wanted of each sequence for each next step. Set before the first step.
  std::uint32_t drafts = 0;
  /// The token number `produced` of a request has no finite logits. Set before the first step.
  std::function<bool(const Request&, std::uint32_t produced)> overflows;
  /// It takes requests with a grammar, and ignores that.
  bool ignores_grammars = false;
  /// It can be opened again. Set before the first step.
  bool reopens = true;
  /// Steps that fail. Set before the first step.
  std::set<std::uint64_t> failing_steps;

  /// From now on only `steps` more steps with slices run, until release().
  void allow_only(std::uint64_t steps) {
    const std::lock_guard lock(mutex_);
    steps_left_ = steps;
    changed_.notify_all();
  }
  void release() { allow_only(std::numeric_limits<std::uint64_t>::max()); }
  void fail(bool fails) {
    const std::lock_guard lock(mutex_);
    fails_ = fails;
  }
  /// From now on every step fails, for good or until it is opened again.
  void lose() {
    const std::lock_guard lock(mutex_);
    lost_ = true;
  }
  void slow_down(std::chrono::microseconds step_time) {
    const std::lock_guard lock(mutex_);
    step_time_ = step_time;
  }

  std::optional<std::string> refuses(const Request& request) const override {
    return ignores_grammars ? std::nullopt : Executor::refuses(request);
  }

  void begin(SeqId seq, const Request& request) override { requests_[seq] = request; }

  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    std::chrono::microseconds step_time;
    bool fails = false;
    bool lost = false;
    {
      std::unique_lock lock(mutex_);
      if (!plan.slices.empty()) {
        changed_.wait(lock, [this] { return steps_left_ > 0; });
        --steps_left_;
      }
      step_time = step_time_;
      fails = fails_ || failing_steps.contains(plan.step.value);
      lost = lost_;
    }
    if (step_time.count() > 0) std::this_thread::sleep_for(step_time);
    for (const Finish& finish : plan.finished) requests_.erase(finish.seq);
    if (lost) return tl::unexpected(ExecutionError{"told to be lost", true});
    if (fails) return tl::unexpected(ExecutionError{"told to fail"});
    result.clear();
    result.step = plan.step;
    for (const Slice& slice : plan.slices) run(slice, result);
    return {};
  }

  tl::expected<void, std::string> reopen() override {
    if (!reopens) return Executor::reopen();
    const std::lock_guard lock(mutex_);
    lost_ = false;
    return {};
  }

  std::size_t known_sequences() const { return requests_.size(); }

 private:
  void run(const Slice& slice, StepResult& result) {
    const Request& request = requests_.at(slice.seq);
    SliceResult out{.seq = slice.seq,
                    .first_token = static_cast<std::uint32_t>(result.tokens.size()),
                    .drafts = drafts};
    const std::uint32_t known = slice.first + slice.count - slice.drafts;
    auto produced = known - static_cast<std::uint32_t>(request.prompt.size());
    while (slice.samples && out.signal == FinishSignal::none && out.token_count <= slice.drafts) {
      if (overflows && overflows(request, produced)) {
        if (out.token_count == 0) out.signal = FinishSignal::not_finite;
        break;
      }
      const TokenId token = next_token_(request, produced++);
      result.tokens.push_back(token);
      ++out.token_count;
      if (token == text::ByteTokenizer::kEos && !request.ignore_eos) out.signal = FinishSignal::eos;
    }
    result.slices.push_back(out);
  }

  NextToken next_token_;
  std::map<SeqId, Request> requests_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t steps_left_ = std::numeric_limits<std::uint64_t>::max();
  std::chrono::microseconds step_time_{0};
  bool fails_ = false;
  bool lost_ = false;
};

}  // namespace forge::test
