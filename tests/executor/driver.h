// Driver: writes StepPlans by hand for one executor, the way a scheduler would, so that
// a test says exactly which slices meet in a step.
//
//   Driver driver(make_target, options);
//   driver.begin(1, request);
//   driver.step({driver.chunk(1, 5), driver.decode(2, 3)});   // 5 prompt tokens; 3 drafts
//
// A sequence enters the batch with its first slice, and again with its first after preempt() or
// swap_out(). It may start with KV that others left: share() and copy_prefix().
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "executor/targets.h"
#include "forge/core/check.h"
#include "forge/executor/executor_options.h"
#include "forge/executor/model_executor.h"

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
  std::vector<TokenReport> reports;  ///< of no sequence, with first_likely 0
  std::vector<TokenLogprob> likely;  ///< of all of them
  friend bool operator==(const Output&, const Output&) = default;
};

class Driver {
 public:
  Driver(const MakeTarget& make, const executor::ExecutorOptions& options)
      : executor_(make(options)), options_(options) {
    for (std::uint32_t b = options.cache.num_blocks; b > 0; --b) free_.push_back(b - 1);
    for (std::uint32_t b = options.cache.num_host_blocks; b > 0; --b) free_host_.push_back(b - 1);
  }

  void begin(std::uint64_t seq, const Request& request) {
    executor_->begin(SeqId(seq), request);
    states_[seq].known = static_cast<std::uint32_t>(request.prompt.size());
  }

  /// The table of `seq`, which has not run yet, starts with the first `count` blocks of `owner`.
  void share(std::uint64_t seq, std::uint64_t owner, std::uint32_t count) {
    State& s = states_[seq];
    for (std::uint32_t i = 0; i < count; ++i) {
      s.blocks.push_back(states_[owner].blocks[i]);
      ++holders_[s.blocks.back()];
    }
    s.valid = count * options_.cache.block_size;
  }
  /// After them comes a copy of the owner's next block, of which `tokens` tokens count.
  void copy_prefix(std::uint64_t seq, std::uint64_t owner, std::uint32_t tokens) {
    State& s = states_[seq];
    const std::uint32_t source = states_[owner].blocks[s.blocks.size()];
    s.blocks.push_back(take());
    plan_.copies.push_back({CopyKind::within, BlockId(source), BlockId(s.blocks.back())});
    s.valid += tokens;
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

  /// Runs one step of these slices, allotting blocks; keeps books of what came out. With a
  /// `meanwhile` the step is started before, and executed after it.
  const StepResult& step(const std::vector<Slice>& slices,
                         const std::function<void()>& meanwhile = {}) {
    plan_.step = StepId(step_++);
    plan_.slices = slices;
    for (const Slice& slice : slices) reserve(slice);
    for (const Slice& slice : slices) enter(slice.seq);
    if (meanwhile) {
      executor_->start(plan_);
      meanwhile();
    }
    run();
    for (std::size_t i = 0; i < slices.size(); ++i) take(slices[i], result_.slices[i]);
    return result_;
  }

  /// Evicts `seq`; the next step carries the news.
  void preempt(std::uint64_t seq) {
    plan_.preempted.push_back({SeqId(seq), PreemptionMode::recompute});
    states_[seq].valid = 0;
    leave(states_[seq]);
  }
  /// The same, and its KV goes to the host until its next slice.
  void swap_out(std::uint64_t seq) {
    State& s = states_[seq];
    plan_.preempted.push_back({SeqId(seq), PreemptionMode::swap});
    for (std::uint32_t i = 0; i < blocks_for(s.valid); ++i) {
      s.host_blocks.push_back(free_host_.back());
      free_host_.pop_back();
      plan_.copies.push_back(
          {CopyKind::swap_out, BlockId(s.blocks[i]), BlockId(s.host_blocks.back())});
    }
    leave(s);
  }
  void finish(std::uint64_t seq) {
    plan_.finished.push_back({SeqId(seq), FinishReason::length});
    leave(states_[seq]);
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
  executor::ModelExecutor& executor() { return *executor_; }
  StepPlan& plan() { return plan_; }

 private:
  struct State {
    std::uint32_t known = 0;  // prompt and output tokens
    std::uint32_t valid = 0;  // with KV
    std::uint32_t held = 0;   // blocks in the executor's table
    std::vector<std::uint32_t> blocks;
    std::vector<std::uint32_t> host_blocks;  // of a swapped sequence
    bool in_batch = false;
    bool has_run = false;
    Output output;
    bool ended = false;
  };

  std::uint32_t blocks_for(std::uint32_t tokens) const {
    return (tokens + options_.cache.block_size - 1) / options_.cache.block_size;
  }

  void reserve(const Slice& slice) {
    State& s = states_[slice.seq.value];
    const auto kept = static_cast<std::uint32_t>(s.blocks.size());
    const auto first = static_cast<std::uint32_t>(plan_.appended_blocks.size());
    while (s.blocks.size() < blocks_for(slice.first + slice.count)) s.blocks.push_back(take());
    const std::uint32_t agrees = std::min(kept, s.held);
    for (std::size_t i = agrees; i < s.blocks.size(); ++i) {
      plan_.appended_blocks.emplace_back(s.blocks[i]);
    }
    const auto count = static_cast<std::uint32_t>(s.blocks.size()) - agrees;
    if (count > 0 || agrees < s.held) plan_.tables.push_back({slice.seq, agrees, first, count});
    s.held = static_cast<std::uint32_t>(s.blocks.size());
  }

  void enter(SeqId seq) {
    State& s = states_[seq.value];
    if (s.in_batch) return;
    (s.has_run ? plan_.resumed : plan_.admitted).push_back({seq, s.valid});
    for (std::size_t i = 0; i < s.host_blocks.size(); ++i) {
      plan_.copies.push_back({CopyKind::swap_in, BlockId(s.host_blocks[i]), BlockId(s.blocks[i])});
      free_host_.push_back(s.host_blocks[i]);
    }
    s.host_blocks.clear();
    s.in_batch = true;
    s.has_run = true;
  }

  void run() {
    const auto outcome = executor_->execute(plan_, result_);
    FORGE_CHECK(outcome.has_value(), outcome.error().message);
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
    for (TokenReport report : result_.reports) {
      if (report.seq != slice.seq) continue;
      const auto likely = result_.likely_of(report);
      s.output.likely.insert(s.output.likely.end(), likely.begin(), likely.end());
      report.seq = SeqId();
      report.first_likely = 0;
      s.output.reports.push_back(report);
    }
    s.ended = answer.signal != FinishSignal::none;
    s.known += answer.token_count;
    s.valid = slice.samples ? s.known - 1 : slice.first + slice.count;
    while (s.blocks.size() > blocks_for(s.valid)) pop_block(s);  // drafts that were not kept
  }

  std::uint32_t take() {
    const std::uint32_t block = free_.back();
    free_.pop_back();
    holders_[block] = 1;
    return block;
  }
  void pop_block(State& s) {
    if (--holders_[s.blocks.back()] == 0) free_.push_back(s.blocks.back());
    s.blocks.pop_back();
  }
  void leave(State& s) {
    while (!s.blocks.empty()) pop_block(s);
    s.held = 0;
    s.in_batch = false;
  }

  std::unique_ptr<executor::ModelExecutor> executor_;
  executor::ExecutorOptions options_;
  std::map<std::uint64_t, State> states_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> free_host_;
  std::map<std::uint32_t, std::uint32_t> holders_;  // tables that contain a block
  StepPlan plan_;
  StepResult result_;
  std::uint64_t step_ = 0;
};

}  // namespace forge::testing
