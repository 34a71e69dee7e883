// Driver: writes StepPlans by hand for one CpuExecutor, the way a scheduler would, so that
// a test says exactly which slices meet in a step.
//
//   Driver driver(options);
//   driver.begin(1, request);
//   driver.step({driver.chunk(1, 5), driver.decode(2, 3)});   // 5 prompt tokens; 3 drafts
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "forge/cpu/cpu_executor.h"

namespace forge::testing {

inline Request request_of(std::string_view prompt, float temperature = 0, std::uint64_t seed = 1) {
  Request request;
  for (const char c : prompt) request.prompt.emplace_back(static_cast<unsigned char>(c) + 1U);
  request.sampling = {temperature, seed};
  request.ignore_eos = true;
  return request;
}

/// What came out of one sequence, with the digests of the logits if there were any.
struct Output {
  std::vector<TokenId> tokens;
  std::vector<std::uint64_t> digests;
  friend bool operator==(const Output&, const Output&) = default;
};

class Driver {
 public:
  explicit Driver(const CpuExecutorOptions& options) : executor_(options), options_(options) {
    for (std::uint32_t b = options.num_blocks; b > 0; --b) free_.push_back(b - 1);
  }

  void begin(std::uint64_t seq, const Request& request) {
    executor_.begin(SeqId(seq), request);
    State& s = states_[seq];
    s.known = static_cast<std::uint32_t>(request.prompt.size());
    s.ended = false;
  }

  /// The next `count` known tokens of `seq`; samples if they are the last.
  Slice chunk(std::uint64_t seq, std::uint32_t count) {
    State& s = states_[seq];
    return {SeqId(seq), s.valid, count, 0, s.valid + count == s.known};
  }
  /// All tokens without KV, and drafts.
  Slice decode(std::uint64_t seq, std::uint32_t drafts = 0) {
    State& s = states_[seq];
    return {SeqId(seq), s.valid, s.known - s.valid + drafts, drafts, true};
  }

  /// Runs one step of these slices, allotting blocks; keeps books of what came out.
  const StepResult& step(const std::vector<Slice>& slices) {
    plan_.step = StepId(step_++);
    plan_.slices = slices;
    for (const Slice& slice : slices) reserve(slice);
    run();
    for (std::size_t i = 0; i < slices.size(); ++i) take(slices[i], result_.slices[i]);
    return result_;
  }

  /// Evicts `seq`; the next step carries the news.
  void preempt(std::uint64_t seq) {
    plan_.preempted.push_back({SeqId(seq), PreemptionMode::recompute});
    release(states_[seq]);
  }
  void finish(std::uint64_t seq) {
    plan_.finished.push_back({SeqId(seq), FinishReason::length});
    release(states_[seq]);
    states_.erase(seq);
  }

  /// Decodes `seq` alone to `count` tokens of output, `drafts` at a time, or to eos.
  void decode_to(std::uint64_t seq, std::size_t count, std::uint32_t drafts = 0) {
    State& s = states_[seq];
    while (s.output.tokens.size() < count && !s.ended) {
      const auto left = static_cast<std::uint32_t>(count - s.output.tokens.size());
      step({decode(seq, s.valid == 0 ? 0 : std::min(drafts, left - 1))});
    }
  }

  const Output& result(std::uint64_t seq) { return states_[seq].output; }
  const std::vector<TokenId>& output(std::uint64_t seq) { return states_[seq].output.tokens; }
  const std::vector<std::uint64_t>& digests(std::uint64_t seq) {
    return states_[seq].output.digests;
  }
  bool ended(std::uint64_t seq) { return states_[seq].ended; }
  CpuExecutor& executor() { return executor_; }
  StepPlan& plan() { return plan_; }

 private:
  struct State {
    std::uint32_t known = 0;  // prompt and output tokens
    std::uint32_t valid = 0;  // with KV
    std::uint32_t held = 0;   // blocks in the executor's table
    std::vector<std::uint32_t> blocks;
    Output output;
    bool ended = false;
  };

  std::uint32_t blocks_for(std::uint32_t tokens) const {
    return (tokens + options_.block_size - 1) / options_.block_size;
  }

  void reserve(const Slice& slice) {
    State& s = states_[slice.seq.value];
    const auto kept = static_cast<std::uint32_t>(s.blocks.size());
    const auto first = static_cast<std::uint32_t>(plan_.appended_blocks.size());
    while (s.blocks.size() < blocks_for(slice.first + slice.count)) {
      s.blocks.push_back(free_.back());
      plan_.appended_blocks.emplace_back(free_.back());
      free_.pop_back();
    }
    const auto count = static_cast<std::uint32_t>(s.blocks.size()) - kept;
    if (count > 0 || kept < s.held) plan_.tables.push_back({slice.seq, kept, first, count});
    s.held = static_cast<std::uint32_t>(s.blocks.size());
  }

  void run() {
    const auto outcome = executor_.execute(plan_, result_);
    if (!outcome) std::abort();
    const std::uint32_t decodes = plan_.decodes;
    plan_.clear();
    plan_.decodes = decodes;
  }

  void take(const Slice& slice, const SliceResult& answer) {
    State& s = states_[slice.seq.value];
    for (const TokenId token : result_.tokens_of(answer)) s.output.tokens.push_back(token);
    if (!result_.logits.empty()) {
      const auto begin = result_.logits.begin() + answer.first_token;
      s.output.digests.insert(s.output.digests.end(), begin, begin + answer.token_count);
    }
    s.ended = answer.signal == FinishSignal::eos;
    s.known += answer.token_count;
    s.valid = slice.samples ? s.known - 1 : slice.first + slice.count;
    while (s.blocks.size() > blocks_for(s.valid)) {  // drafts that were not kept
      free_.push_back(s.blocks.back());
      s.blocks.pop_back();
    }
  }

  void release(State& s) {
    while (!s.blocks.empty()) {
      free_.push_back(s.blocks.back());
      s.blocks.pop_back();
    }
    s.valid = 0;
    s.held = 0;
  }

  CpuExecutor executor_;
  CpuExecutorOptions options_;
  std::map<std::uint64_t, State> states_;
  std::vector<std::uint32_t> free_;
  StepPlan plan_;
  StepResult result_;
  std::uint64_t step_ = 0;
};

}  // namespace forge::testing
