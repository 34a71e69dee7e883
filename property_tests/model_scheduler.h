// ModelScheduler: the policy of scheduler.h once more, as plainly as it can be said.
//
// Deques and maps, block counts instead of block ids, no reuse of memory. The property tests
// hold the real scheduler to it, step by step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "forge/core/scheduler.h"

namespace forge::testing {

class ModelScheduler {
 public:
  explicit ModelScheduler(const SchedulerConfig& config) : config_(config) {}

  struct Plan {
    std::vector<SeqId> admitted, resumed, preempted;
    std::vector<Finish> finished;
    std::vector<Slice> slices;
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  SeqId submit(const Request& request) {
    const SeqId seq{next_++};
    all_[seq] = {.prompt = static_cast<std::uint32_t>(request.prompt.size()),
                 .max_new = request.max_new_tokens};
    waiting_.push_back(seq);
    return seq;
  }

  void finish(SeqId seq, FinishReason reason) {
    if (all_[seq].reason != FinishReason::none) return;
    all_[seq].reason = reason;
    finishing_.push_back(seq);
    std::erase(waiting_, seq);
  }

  Plan schedule() {
    Plan plan;
    for (const SeqId seq : finishing_) {
      plan.finished.push_back({seq, all_[seq].reason});
      std::erase(running_, seq);
      all_.erase(seq);
    }
    finishing_.clear();
    if (blocks_after_decode() > config_.num_blocks) {
      for (const SeqId seq : running_) all_[seq].drafts = 0;
    }
    while (blocks_after_decode() > config_.num_blocks) {
      const SeqId victim =
          *std::min_element(running_.begin(), running_.end(), [&](SeqId a, SeqId b) {
            return std::pair(all_[a].output, -std::int64_t(a.value)) <
                   std::pair(all_[b].output, -std::int64_t(b.value));
          });
      std::erase(running_, victim);
      waiting_.push_front(victim);
      all_[victim].preempted_before = true;
      plan.preempted.push_back(victim);
    }
    std::uint64_t used = blocks_after_decode();
    for (const SeqId seq : running_) {
      const State& s = all_[seq];
      plan.slices.push_back({seq, s.length() - 1, 1 + s.drafts, s.drafts, true});
    }
    while (!waiting_.empty() && running_.size() < config_.max_batch_size) {
      const SeqId seq = waiting_.front();
      const State& s = all_[seq];
      if (used + blocks(s.length()) > config_.num_blocks) break;
      used += blocks(s.length());
      waiting_.pop_front();
      running_.push_back(seq);
      (s.preempted_before ? plan.resumed : plan.admitted).push_back(seq);
      plan.slices.push_back({seq, 0, s.length(), 0, true});
    }
    return plan;
  }

  void commit(const StepResult& result) {
    for (const SliceResult& slice : result.slices) {
      State& s = all_[slice.seq];
      if (slice.signal == FinishSignal::error) {
        finish(slice.seq, FinishReason::error);
        continue;
      }
      s.output += slice.token_count;
      s.drafts = 0;
      if (slice.signal == FinishSignal::eos) {
        finish(slice.seq, FinishReason::eos);
      } else if (s.output == s.max_new) {
        finish(slice.seq, FinishReason::length);
      } else {
        s.drafts = std::min(slice.drafts, s.max_new - s.output - 1);
      }
    }
  }

  bool has_work() const { return !all_.empty(); }

 private:
  struct State {
    std::uint32_t prompt = 0, output = 0, max_new = 0, drafts = 0;
    bool preempted_before = false;
    FinishReason reason = FinishReason::none;
    std::uint32_t length() const { return prompt + output; }
  };

  std::uint64_t blocks(std::uint64_t tokens) const {
    return (tokens + config_.block_size - 1) / config_.block_size;
  }
  std::uint64_t blocks_after_decode() const {
    std::uint64_t sum = 0;
    for (const SeqId seq : running_) sum += blocks(all_.at(seq).length() + all_.at(seq).drafts);
    return sum;
  }

  SchedulerConfig config_;
  std::uint64_t next_ = 1;
  std::map<SeqId, State> all_;
  std::deque<SeqId> waiting_;
  std::vector<SeqId> running_;
  std::vector<SeqId> finishing_;
};

}  // namespace forge::testing
