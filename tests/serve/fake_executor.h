// FakeExecutor: a target without a model, for tests of what is above it.
//
// Its tokens are a function of the request and the position, as a target's must be. It can be
// stopped between steps, told to fail, and slowed down.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "forge/core/digest.h"
#include "forge/core/executor.h"
#include "forge/text/byte_tokeniser.h"

namespace forge::test {

/// Letters that depend on prompt, sampling and position.
inline TokenId letter_at(const Request& request, std::uint32_t position) {
  Digest digest;
  for (const TokenId token : request.prompt) digest.add(token);
  digest.add(request.sampling.temperature > 0 ? request.sampling.seed + 1 : 0).add(position);
  return ByteTokeniser::token_of(static_cast<unsigned char>('a' + (digest.value() >> 7) % 26));
}

class FakeExecutor : public Executor {
 public:
  using NextToken = std::function<TokenId(const Request&, std::uint32_t position)>;

  explicit FakeExecutor(NextToken next_token = letter_at) : next_token_(std::move(next_token)) {}

  /// From now on only `steps` more steps run, until release().
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
  void slow_down(std::chrono::microseconds step_time) {
    const std::lock_guard lock(mutex_);
    step_time_ = step_time;
  }

  void begin(SeqId seq, const Request& request) override { sequences_[seq] = {request, 0}; }

  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    std::chrono::microseconds step_time;
    bool fails = false;
    {
      std::unique_lock lock(mutex_);
      if (!plan.slices.empty()) {
        changed_.wait(lock, [this] { return steps_left_ > 0; });
        --steps_left_;
      }
      step_time = step_time_;
      fails = fails_;
    }
    if (step_time.count() > 0) std::this_thread::sleep_for(step_time);
    for (const Finish& finish : plan.finished) sequences_.erase(finish.seq);
    if (fails) return tl::unexpected(ExecutionError{"told to fail"});
    result.clear();
    result.step = plan.step;
    for (const Slice& slice : plan.slices) run(slice, result);
    return {};
  }

 private:
  struct Sequence {
    Request request;
    std::uint32_t produced = 0;
  };

  void run(const Slice& slice, StepResult& result) {
    SliceResult out{.seq = slice.seq,
                    .first_token = static_cast<std::uint32_t>(result.tokens.size())};
    if (slice.samples) {
      Sequence& sequence = sequences_.at(slice.seq);
      const TokenId token = next_token_(sequence.request, sequence.produced++);
      result.tokens.push_back(token);
      out.token_count = 1;
      if (token == ByteTokeniser::kEos) out.signal = FinishSignal::eos;
    }
    result.slices.push_back(out);
  }

  NextToken next_token_;
  std::map<SeqId, Sequence> sequences_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t steps_left_ = std::numeric_limits<std::uint64_t>::max();
  std::chrono::microseconds step_time_{0};
  bool fails_ = false;
};

}  // namespace forge::test
