// TraceState: what a scheduler looked like after each event of a trace, without a scheduler.
//
// The events say enough to follow every sequence through the queue and the batch: this is how
// `forge-trace step`, `stats` and `export` know which sequences wait, which run and whose KV is on
// the host. A value: a copy is a checkpoint that one can return to (trace_timeline.h).
//
//   submit --> waiting ---admitted----> running --finished--> gone
//                 ^                        |
//                 +--preempted(recompute)--+
//                                          |
//              swapped <--preempted(swap)--+    resumed: from waiting or swapped to running
//
// When all KV is lost (step_plan.h), those that run or are swapped wait.
//
// A trace may begin with a snapshot; then the state is that of the scheduler, and the tables of the
// target are the scheduler's. Of a block that was cached before, CachedBlocks knows no sequence.
//
// Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/fair_shares.h"
#include "forge/core/policy.h"
#include "forge/core/scheduler_config.h"
#include "forge/trace/block_map.h"
#include "forge/trace/cached_blocks.h"
#include "forge/trace/trace_event.h"

namespace forge::trace {

struct TracedSequence {
  enum class Place : std::uint8_t { waiting, swapped, running };

  SeqId seq;
  Place place = Place::waiting;
  Priority priority = Priority::normal;
  ClientId client;
  UserId user;
  std::uint32_t weight = 1;
  FairShares::Index share = 0;       ///< whose it is, by TraceState::shares()
  bool is_queued = false;            ///< it waits, and nobody has ended it
  bool has_begun = false;            ///< it has been in the batch
  std::uint32_t charged_tokens = 0;  ///< leading tokens that count as served, or need not
  std::uint32_t prompt_tokens = 0;
  std::uint32_t max_new_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint32_t computed_tokens = 0;       ///< leading tokens whose KV is on device or host
  std::uint32_t most_computed_tokens = 0;  ///< the most so far: up to here it is recomputation
  std::uint32_t host_blocks = 0;
  std::uint32_t preemptions = 0;
  std::uint64_t entry = 0;  ///< counts admissions: the order of the batch
  StepId submitted;         ///< the step that followed
  std::uint64_t deadline_steps = 0;
  std::optional<SessionId> session;
  bool ends = false;  ///< to be retired by the next plan

  std::uint32_t length() const { return prompt_tokens + output_tokens; }
  friend bool operator==(const TracedSequence&, const TracedSequence&) = default;
};
constexpr Names<TracedSequence::Place> names_of(TracedSequence::Place) {
  return {"waiting", "swapped", "running"};
}

/// The next sequence of a user that waits, and how it stands in the queue.
struct TracedCandidate {
  ClientId client;
  UserId user;
  Candidate standing;
};

class TraceState {
 public:
  explicit TraceState(const SchedulerConfig& config)
      : config_(config), blocks_(config.cache.num_blocks, config.cache.block_size) {}

  /// Follows one event. Errors: a text naming what does not follow from the events before (an
  /// unknown sequence, a step out of order, a contradictory block table); the state is then of
  /// no use. O(work of the event * log(sequences)).
  tl::expected<void, std::string> apply(const TraceEvent& event);

  /// The same for a step. Calls `before_turn` for each sequence that enters the batch, in their
  /// order, just before it does: candidates() are then those that the scheduler saw.
  using BeforeTurn = std::function<void(SeqId seq)>;
  tl::expected<void, std::string> apply(const StepEvent& step, const BeforeTurn& before_turn);

  const SchedulerConfig& config() const { return config_; }
  StepId next_step() const { return next_step_; }
  /// False before the first event.
  bool has_begun() const { return has_begun_; }
  const BlockMap& blocks() const { return blocks_; }
  /// Nothing, if the trace does not say (says_what_is_cached in trace_header.h).
  const CachedBlocks& cached() const { return cached_; }
  std::uint32_t host_blocks() const { return host_blocks_; }  ///< in use
  std::size_t waiting_count() const { return waiting_count_; }
  std::size_t swapped_count() const { return swapped_count_; }
  std::size_t running_count() const { return running_count_; }

  /// All unfinished sequences by id. find() returns one of them; null if there is none of that id.
  const std::map<SeqId, TracedSequence>& sequences() const { return sequences_; }
  const TracedSequence* find(SeqId seq) const;

  /// What clients and users have had.
  const FairShares& shares() const { return shares_; }
  /// The next one of each user that waits, in the order of has_turn_before (policy.h).
  std::vector<TracedCandidate> candidates() const;
  /// The waiting sequences, swapped ones too, in the order of WaitQueue::in_order (wait_queue.h):
  /// the next first, then user by user. Those that somebody has ended stand where they were.
  std::vector<const TracedSequence*> queue() const;
  /// The running sequences, in order of admission.
  std::vector<const TracedSequence*> batch() const;

 private:
  using Applied = tl::expected<void, std::string>;
  using Place = TracedSequence::Place;

  Applied follow(const SubmitEvent& event);
  Applied follow(const CancelEvent& event);
  Applied follow(const ReleaseSessionEvent&) { return {}; }
  Applied follow(const ClearPrefixCacheEvent&) { return {}; }
  Applied follow(const StepEvent& event) { return apply(event, {}); }
  Applied follow(const SnapshotEvent& event);
  void begin(const SequenceSnapshot& told, const OpenRequest& open);
  Applied follow_plan(const StepPlan& plan, const BeforeTurn& before_turn);
  Applied finish(const Finish& finish);
  Applied preempt(const StepPlan& plan);
  Applied enter(const std::vector<Admission>& admissions, bool resumed);
  Applied follow_result(const StepPlan& plan, const StepResult& result);
  Applied answer(const Slice& slice, const SliceResult& answer);
  void begin_waiting(TracedSequence& sequence);
  void stop_waiting(TracedSequence& sequence);
  void count_turns(const StepPlan& plan, const BeforeTurn& before_turn);
  void take_turn(TracedSequence& sequence, std::uint32_t cached_tokens);
  void forget_failed_swaps(const StepPlan& plan);
  void lose_kv();
  void move(TracedSequence& sequence, Place place);
  std::size_t& count(Place place);
  void drop_host_blocks(TracedSequence& sequence);
  Candidate candidate(const TracedSequence& sequence) const;
  TracedSequence* lookup(SeqId seq);

  SchedulerConfig config_;
  BlockMap blocks_;
  CachedBlocks cached_;
  FairShares shares_;
  std::map<SeqId, TracedSequence> sequences_;
  StepId next_step_;
  std::uint64_t entries_ = 0;
  std::uint32_t host_blocks_ = 0;
  std::size_t waiting_count_ = 0;
  std::size_t swapped_count_ = 0;
  std::size_t running_count_ = 0;
  bool has_begun_ = false;
};

}  // namespace forge::trace
