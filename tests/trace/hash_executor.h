// HashExecutor: a target whose every token is a hash of the sequence and the position, so that
// its output depends on the request alone, as that of a real target does. A slice that does not
// reach the end of the known tokens yields nothing.
#pragma once

#include <cstdint>
#include <set>

#include "forge/core/digest.h"
#include "forge/core/executor.h"

namespace forge::testing {

class HashExecutor : public Executor {
 public:
  static constexpr std::uint32_t kVocabulary = 320;

  /// Drafts wanted of each sequence for each next step; every other one is accepted.
  std::uint32_t drafts = 0;
  bool logits_digests = true;
  std::set<std::uint64_t> failing_steps;
  std::set<std::uint64_t> lost_steps;
  std::uint64_t executed_steps = 0;

  void begin(SeqId, const Request&) override {}
  tl::expected<void, std::string> resume(SeqId, const Request&, const PastRun&) override {
    return {};
  }

  tl::expected<void, ExecutionError> execute(const StepPlan& plan, StepResult& result) override {
    ++executed_steps;
    if (failing_steps.contains(plan.step.value)) {
      return tl::unexpected(ExecutionError{"the device is on fire"});
    }
    if (lost_steps.contains(plan.step.value) && !plan.slices.empty()) {
      return tl::unexpected(ExecutionError{"the device is gone", true});
    }
    result.clear();
    result.step = plan.step;
    for (const Slice& slice : plan.slices) answer(slice, result);
    return {};
  }
  tl::expected<void, std::string> reopen() override { return {}; }

 private:
  void answer(const Slice& slice, StepResult& result) const {
    if (!slice.samples) {
      result.slices.push_back(
          {.seq = slice.seq, .first_token = static_cast<std::uint32_t>(result.tokens.size())});
      return;
    }
    const auto accepted = slice.drafts / 2;
    result.slices.push_back({.seq = slice.seq,
                             .first_token = static_cast<std::uint32_t>(result.tokens.size()),
                             .token_count = accepted + 1,
                             .drafts = drafts});
    for (std::uint32_t i = 0; i <= accepted; ++i) {
      const std::uint32_t position = slice.first + slice.count - slice.drafts + i;
      const std::uint64_t hash = Digest().add(slice.seq).add(position).value();
      result.tokens.push_back(TokenId{1 + static_cast<std::uint32_t>(hash % (kVocabulary - 1))});
      if (logits_digests) result.logits.push_back(hash);
    }
  }
};

}  // namespace forge::testing
