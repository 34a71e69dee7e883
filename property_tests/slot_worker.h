// SlotWorker: continuous batching in its simplest form. A fixed number of slots, each for one
// request; the prompt of a newcomer runs at once, then every step adds a token.
//
// This is what Forge's policy is when nothing is scarce but slots (slots_mode.cc holds the two
// to each other), and the place to begin reading: everything else in scheduler.h is about
// memory that runs out, prompts that are long, and requests that are alike.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "forge/core/request.h"
#include "forge/core/step_plan.h"

namespace forge::testing {

class SlotWorker {
 public:
  explicit SlotWorker(std::size_t slots) : slots_(slots) {}

  void submit(SeqId seq, const Request& request);

  /// The next step: who leaves, who comes, what runs. `decodes` counts the slices of those who were
  /// in a slot before; they come first. Of blocks and of the step's number the plan says nothing.
  StepPlan step();

  /// Everybody in a slot got a token: eos[i] says whether the model has ended the sequence of
  /// slices[i] with it. Who has its last token leaves in the next step; where its length is
  /// reached, too, the reason is eos.
  void finish_step(const std::vector<bool>& eos);

 private:
  struct Entry {
    SeqId seq;
    std::uint32_t read = 0;    // tokens whose KV is there
    std::uint32_t unread = 0;  // tokens to run next: the prompt, then one at a time
    std::uint32_t left = 0;    // tokens to generate
  };

  std::size_t slots_;
  std::deque<Entry> queue_;
  std::vector<Entry> running_;
  std::vector<Finish> ended_;
};

inline void SlotWorker::submit(SeqId seq, const Request& request) {
  const auto prompt = static_cast<std::uint32_t>(request.prompt.size());
  queue_.push_back({.seq = seq, .unread = prompt, .left = request.max_new_tokens});
}

inline StepPlan SlotWorker::step() {
  StepPlan plan;
  plan.finished = std::exchange(ended_, {});                            // drain
  std::erase_if(running_, [](const Entry& e) { return e.left == 0; });  // evict
  plan.decodes = static_cast<std::uint32_t>(running_.size());
  while (!queue_.empty() && running_.size() < slots_) {  // admit
    plan.admitted.push_back({queue_.front().seq});
    running_.push_back(queue_.front());
    queue_.pop_front();
  }
  for (Entry& e : running_) {  // decode
    plan.slices.push_back({.seq = e.seq, .first = e.read, .count = e.unread, .samples = true});
    e.read += std::exchange(e.unread, 1);
  }
  return plan;
}

inline void SlotWorker::finish_step(const std::vector<bool>& eos) {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Entry& e = running_[i];
    e.left = eos[i] ? 0 : e.left - 1;
    if (e.left > 0) continue;
    ended_.push_back({e.seq, eos[i] ? FinishReason::eos : FinishReason::length});
  }
}

}  // namespace forge::testing
