// Books: what somebody knows who has followed a run so far, from requests, plans and results alone.
//
//   before    what was asked for is taken in, and whom the plan retires has ended
//   planned   the plan is done: who leaves and enters the batch, and the tables; no slice has run
//
// Both are shown of each step (Moment). A value: copies are independent. A plan that is wrong does
// no harm here: what it says is noted, as far as it can be.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "forge/core/policy.h"
#include "witness.h"

namespace forge::labs::witness {

/// What is known of a sequence.
struct Watched {
  SeqId seq;
  Request request;
  std::vector<TokenId> tokens;  ///< known: the prompt, then what was generated
  /// The KV of so many leading tokens is valid: on the device, or on the host if it was swapped
  /// out. In a step in which the sequence enters the batch, it is what the admission says.
  std::uint32_t computed = 0;
  std::uint32_t computed_max = 0;  ///< the most that `computed` has been at the end of a step
  std::uint32_t offered = 0;       ///< drafts, by the last answer; 0 once it has left the batch
  bool runs = false;               ///< it is in the batch
  bool on_host = false;            ///< its KV was swapped out, and has not come back
  bool ended = false;              ///< a plan has retired it
  std::vector<BlockId> table;      ///< on the device; empty while it does not run
};

class Books {
 public:
  explicit Books(const SchedulerConfig& config) : config_(config) {}

  const SchedulerConfig& config() const { return config_; }

  /// All that were submitted, those that have ended included, by id.
  const std::map<SeqId, Watched>& all() const { return all_; }
  const Watched& of(SeqId seq) const { return all_.at(seq); }

  std::uint32_t blocks_for(std::size_t tokens) const {
    const std::size_t size = config_.cache.block_size;
    return static_cast<std::uint32_t>((tokens + size - 1) / size);
  }

  /// Whether there is a prefix cache, and the request uses it.
  bool uses_cache(const Request& request) const {
    return config_.prefix_cache != PrefixCacheKind::none &&
           request.prefix_cache == PrefixCacheUse::automatic;
  }

  /// Its place in the queue.
  AdmissionKey key(const Watched& sequence) const {
    return admission_key({.seq = sequence.seq,
                          .priority = sequence.request.priority,
                          .prompt_tokens = size(sequence.request.prompt),
                          .output_tokens = size(sequence.tokens) - size(sequence.request.prompt),
                          .max_new_tokens = sequence.request.max_new_tokens},
                         config_);
  }

  /// Before the plan.
  void begin(const Step& step) {
    for (const auto& [seq, request] : step.submitted) {
      all_[seq] = {.seq = seq, .request = request, .tokens = request.prompt};
    }
    for (const Finish& finish : step.plan.finished) {
      leave(all_[finish.seq]);
      all_[finish.seq].on_host = false;
      all_[finish.seq].ended = true;
    }
  }

  /// With the plan done.
  void apply(const StepPlan& plan) {
    for (const Preemption& preemption : plan.preempted) {
      Watched& its = all_[preemption.seq];
      leave(its);
      its.on_host = preemption.mode == PreemptionMode::swap;
      if (!its.on_host) its.computed = 0;
    }
    for (const Admission& admission : plan.admitted) enter(admission);
    for (const Admission& admission : plan.resumed) enter(admission);
    for (const TableDelta& delta : plan.tables) {
      std::vector<BlockId>& table = all_[delta.seq].table;
      table.resize(std::min<std::size_t>(table.size(), delta.truncated_to));
      const auto appended = plan.appended(delta);
      table.insert(table.end(), appended.begin(), appended.end());
    }
  }

  /// With what came out.
  void end(const Step& step) {
    for (std::size_t i = 0; i < step.plan.slices.size(); ++i) {
      const Slice& slice = step.plan.slices[i];
      const SliceResult& answer = step.result.slices[i];
      const auto tokens = step.result.tokens_of(answer);
      Watched& its = all_[slice.seq];
      its.tokens.insert(its.tokens.end(), tokens.begin(), tokens.end());
      // Of the drafts those are valid that were kept; the last token has not run yet.
      its.computed = slice.samples ? size(its.tokens) - 1 : slice.first + slice.count;
      its.computed_max = std::max(its.computed_max, its.computed);
      its.offered = answer.drafts;
    }
  }

 private:
  template <class Tokens>
  static std::uint32_t size(const Tokens& tokens) {
    return static_cast<std::uint32_t>(tokens.size());
  }

  static void leave(Watched& sequence) {
    sequence.runs = false;
    sequence.offered = 0;
    sequence.table.clear();
  }

  void enter(const Admission& admission) {
    Watched& its = all_[admission.seq];
    its.runs = true;
    its.on_host = false;
    its.computed = admission.cached_tokens;
    its.table.clear();
  }

  SchedulerConfig config_;
  std::map<SeqId, Watched> all_;
};

/// Those that enter the batch, for the first time and again.
inline std::vector<Admission> entering(const StepPlan& plan) {
  std::vector<Admission> both = plan.admitted;
  both.insert(both.end(), plan.resumed.begin(), plan.resumed.end());
  return both;
}

/// One step of a run.
struct Moment {
  const Books& before;
  const Books& planned;
  const StepPlan& plan;
  const StepResult& result;
};

/// The first step for which `breaks`, a function from a Moment to a bool, is true. It is asked
/// about each step up to that one, in order.
template <class Breaks>
std::optional<std::size_t> first_step(const Run& run, Breaks breaks) {
  Books books(run.config);
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const Step& step = run.steps[i];
    books.begin(step);
    const Books before = books;
    books.apply(step.plan);
    if (breaks(Moment{before, books, step.plan, step.result})) return i;
    books.end(step);
  }
  return std::nullopt;
}

}  // namespace forge::labs::witness
