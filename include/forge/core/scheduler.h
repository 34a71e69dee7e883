// Scheduler: continuous batching as a state machine.
//
// Events go in (submit, cancel, release_session, clear_prefix_cache, commit), plans come out
// (schedule). The scheduler sees tokens and ids of blocks; no thread, clock, model or random
// number. The same events give the same plans, on every machine, every time.
//
//            submit            schedule               commit
//   Request ---------> waiting ---------> prefilling ---------> decoding ---------> finished
//                         ^      admit /      |  chunk by chunk     |       retire
//                         |      resume       |                     |
//                         +-------------------+---------------------+
//                                        preempt
//
// Iteration-level scheduling is from Yu et al., "Orca", OSDI 2022; block-wise KV memory
// from Kwon et al., "PagedAttention", SOSP 2023; chunked prefill from Agrawal et al.,
// "Sarathi-Serve", OSDI 2024; prefix caching from Zheng et al., "SGLang", NeurIPS 2024.
//
// policy.h decides, with one pure function for each question; the scheduler is the mechanism that
// asks. One schedule() call, in this order:
//   1. Expire: requests whose deadline has passed end, sessions idle for too long are released.
//   2. Retire what has ended; its blocks are free for this very step.
//   3. Decode: every decoding sequence runs its last token, plus its drafts. Drafts are given up
//      first (drafts_kept): those beyond max_batch_tokens in order of admission, all of them when
//      blocks are short. While blocks are short even so, victims are preempted (is_better_victim).
//      A victim goes back to its place in the queue; its KV, if it has any, is dropped or swapped
//      to the host (preemption_mode).
//   4. Prefill: what is left of max_batch_tokens, or what prompts may have of it (prompt_budget),
//      goes to the sequences whose prompts are not done, in order of admission, a chunk each
//      (prompt_chunk).
//   5. Admit from the front of the queue (has_turn_before, admission_key) while max_batch_size,
//      max_batch_tokens and blocks allow, unless a sequence was preempted in this step. A sequence
//      is admitted with the blocks of all its known tokens (prompt and, when it resumes, the output
//      it already has) or not at all, so a prompt under way never waits for memory; while others
//      run, some blocks stay available (blocks_kept_free). It starts behind the longest prefix
//      whose KV is cached, or, after a swap, where it stopped. If it does not fit, it does without
//      the block to be copied (paged_kv_cache.h); if it does not fit even so and nothing runs,
//      sessions are ended one by one (sessions_give_way). The first that does not fit ends
//      admission.
//
// Why no request waits for ever: a step that preempts decodes a sequence, which yields a token; or
// it preempts all that would have decoded, and each of them yielded a token when it came in. So at
// most as many steps preempt as tokens are generated (and slices fail, and targets are lost), and
// sequences cannot take turns in preempting each other. When nothing runs, the front of the queue
// fits, if need be at the expense of sessions; a user is the front of the queue when it has been
// served least, which the floor sees to (fair_shares.h); and of its own requests none is overtaken
// more often than overtakers_max says.
//
// Owns the cache's bookkeeping and the state of all unfinished sequences. A value: copies are
// independent. Thread contract: one thread at a time. The steady state allocates nothing: all
// memory is reused.
//
// Invariants: see invariants.h, which checks them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "forge/core/deadline_heap.h"
#include "forge/core/paged_kv_cache.h"
#include "forge/core/request.h"
#include "forge/core/scheduler_config.h"
#include "forge/core/scheduler_snapshot.h"
#include "forge/core/sequence.h"
#include "forge/core/session_table.h"
#include "forge/core/step_plan.h"
#include "forge/core/wait_queue.h"

namespace forge {

/// prompt + max_new_tokens exceeds the whole cache: the request could never finish.
struct NeverFits {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t max_new_tokens = 0;
  std::uint64_t capacity_tokens = 0;
  friend bool operator==(const NeverFits&, const NeverFits&) = default;
};
struct EmptyPrompt {
  friend bool operator==(const EmptyPrompt&, const EmptyPrompt&) = default;
};
struct NothingToGenerate {
  friend bool operator==(const NothingToGenerate&, const NothingToGenerate&) = default;
};
/// The request has a session, which needs a prefix cache, and there is none, or it refuses the
/// cache.
struct NoPrefixCache {
  friend bool operator==(const NoPrefixCache&, const NoPrefixCache&) = default;
};
/// A field of the request, or of its SamplingParams, is not what is accepted.
struct FieldOutOfRange {
  ConfigError error;
  friend bool operator==(const FieldOutOfRange&, const FieldOutOfRange&) = default;
};
/// The target cannot run it (Executor::refuses), which the scheduler does not know and an engine
/// asks first.
struct TargetRefuses {
  std::string reason;
  friend bool operator==(const TargetRefuses&, const TargetRefuses&) = default;
};
using SubmitError = std::variant<NeverFits, EmptyPrompt, NothingToGenerate, FieldOutOfRange,
                                 NoPrefixCache, TargetRefuses>;
std::string to_string(const SubmitError& error);

/// The tokens of the longest sequence: num_blocks * block_size, below 2^32 - block_size.
std::uint64_t capacity_tokens(const SchedulerConfig& config);

/// Would a scheduler of this configuration take the request? A pure function, so that a
/// server can refuse before it queues.
tl::expected<void, SubmitError> validate(const Request& request, const SchedulerConfig& config);

struct UnknownSession {
  SessionId session;
  friend bool operator==(const UnknownSession&, const UnknownSession&) = default;
};

/// Lookups at first admissions of requests that use the prefix cache.
struct PrefixCacheStatistics {
  std::uint64_t queries = 0;
  std::uint64_t hits = 0;              ///< queries that found something
  std::uint64_t query_tokens = 0;      ///< prompt tokens looked up
  std::uint64_t hit_tokens = 0;        ///< those of query_tokens that were found
  std::uint64_t recovered_tokens = 0;  ///< found by sequences that resumed, not counted above
  std::uint64_t evictions = 0;         ///< cached blocks given up for others

  friend bool operator==(const PrefixCacheStatistics&, const PrefixCacheStatistics&) = default;
};

class Scheduler {
 public:
  /// Requires: `config` is valid.
  explicit Scheduler(const SchedulerConfig& config);

  /// The state between two steps, as a value. Requires: no plan is in flight. O(blocks + tokens)
  SchedulerSnapshot snapshot() const;
  /// The scheduler of a snapshot: equal events get equal plans. Errors: what in the snapshot is no
  /// state of a scheduler with this configuration. Requires: `config` is valid.
  static tl::expected<Scheduler, std::string> restore(const SchedulerConfig& config,
                                                      const SchedulerSnapshot& snapshot);

  /// Takes a request in. Ids are 1, 2, 3, ... in order of submission.
  tl::expected<SeqId, SubmitError> submit(const Request& request);

  /// Ends a sequence in whatever state it is; the next plan retires it with `reason` (the
  /// first reason given wins). Between schedule() and commit() the step in flight still
  /// completes. Errors: UnknownSequence (never submitted, or retired already).
  tl::expected<void, UnknownSequence> cancel(SeqId seq,
                                             FinishReason reason = FinishReason::cancelled);

  /// Gives up the KV that is kept for `session`. Its requests that have ended leave none; those
  /// under way still do when they end. Errors: UnknownSession (no request of it is unfinished and
  /// nothing is kept for it).
  tl::expected<void, UnknownSession> release_session(SessionId session);

  /// Forgets all cached prefixes, those of sessions too; sequences under way are not affected.
  void clear_prefix_cache();

  /// Decides the next step. The plan stays valid and unchanged until the next call; copy it
  /// to keep it. Requires: the previous plan has been committed.
  const StepPlan& schedule();

  /// Takes in what the step produced: new tokens, drafts to reserve for, ends. If all slices
  /// ended in an error the step failed, so the swaps of its plan are not relied on. If all KV was
  /// lost, every sequence of the batch goes back to its place in the queue, and nothing is cached.
  /// Requires: `plan` is the one in flight and `result` answers it slice by slice.
  void commit(const StepPlan& plan, const StepResult& result);

  /// True while a sequence is waiting, running or to be retired.
  bool has_work() const { return index_of_.size() > 0; }
  std::size_t waiting_count() const { return queue_.size(); }
  /// Sequences that hold KV, those to be retired by the next plan included.
  std::size_t running_count() const { return running_.size(); }

  const SchedulerConfig& config() const { return config_; }
  const PagedKVCache& cache() const { return cache_; }
  const PagedKVCache& host() const { return host_; }  ///< tables of swapped sequences
  const SessionTable& sessions() const { return sessions_; }
  PrefixCacheStatistics prefix_cache_statistics() const;
  /// What the step committed last has changed in the prefix cache, and the events between it and
  /// the step before.
  const CacheDelta& cache_delta() const { return cache_delta_; }
  const StepPlan& plan() const { return plan_; }
  bool in_flight() const { return in_flight_; }
  /// True if a plan is in flight and no event has come since schedule().
  bool plan_is_fresh() const { return plan_is_fresh_; }

  /// What clients and users have had, and which of them a sequence is of. Errors: UnknownSequence.
  const FairShares& shares() const { return queue_.shares(); }
  tl::expected<FairShares::Index, UnknownSequence> user_of(SeqId seq) const;

  /// Views for checkers and tools. O(sequences shown).
  std::vector<SequenceView> running() const;    ///< in order of admission
  std::vector<SequenceView> waiting() const;    ///< next one first
  std::vector<SequenceView> finishing() const;  ///< ended, to be retired by the next plan
  tl::expected<SequenceView, UnknownSequence> view(SeqId seq) const;
  /// What a sequence is found by in the prefix cache: its prompt and output; no tokens if it does
  /// not use the cache. Errors: UnknownSequence.
  tl::expected<SaltedTokens, UnknownSequence> salted_tokens(SeqId seq) const;

  /// Two schedulers have equal digests exactly if (up to a collision) they will make equal plans
  /// from equal events, but for the numbers of steps and sequences. O(blocks + tokens).
  std::uint64_t state_digest() const;

 private:
  using SequenceIndex = std::uint32_t;

  // The parts of schedule(), in order.
  void expire();
  void retire();
  void make_room();
  void plan_decodes();
  void plan_prefills();
  void admit();

  SequenceSnapshot snapshot_of(SequenceIndex index) const;
  std::vector<SequenceIndex> in_order_of_ids() const;
  std::string restore(const SchedulerSnapshot& snapshot);
  std::string restore_sequences(const SchedulerSnapshot& snapshot);
  std::string restore_orders(const SchedulerSnapshot& snapshot);
  bool has_its_place(const SequenceView& view, bool runs, bool ends) const;
  std::string restore_sessions(const std::vector<SessionSnapshot>& sessions);

  void requeue(SequenceIndex index);
  void wait(SequenceIndex index);
  void retire_sequence(SequenceIndex index);
  void keep_for_session(const Sequence& sequence);
  void end_session(SessionId session);

  void trim_drafts(bool blocks_are_short);
  std::uint32_t blocks_to_decode(const Sequence& sequence) const;
  std::uint64_t blocks_to_decode_all() const;
  std::size_t choose_victim() const;
  void preempt(std::size_t running_index);
  bool host_has_room(const Sequence& sequence) const;
  void swap_out(const Sequence& sequence);
  bool end_session_for_memory();

  bool admit_front();
  bool end_session_for(Sequence& sequence);
  bool may_fit(const Sequence& sequence) const;
  void find_prefix(Sequence& sequence);
  bool fits(const Sequence& sequence);
  void enter_batch(SequenceIndex index);
  std::uint32_t swap_in(Sequence& sequence);
  std::uint32_t start_from_prefix(Sequence& sequence);

  void plan_chunk(SequenceIndex index);
  void plan_slice(SequenceIndex index, std::uint32_t count, std::uint32_t drafts);
  void charge(Sequence& sequence, std::uint32_t tokens);
  void plan_table(Sequence& sequence);

  void commit_slices(const StepPlan& plan, const StepResult& result);
  void commit_slice(const Slice& slice, const StepResult& result, const SliceResult& answer,
                    SequenceIndex index);
  void advance(Sequence& sequence, std::uint32_t computed_tokens);
  void forget_failed_swaps();
  void lose_kv();
  void finish(SequenceIndex index, FinishReason reason);

  SchedulerConfig config_;
  PagedKVCache cache_;
  PagedKVCache host_;
  SessionTable sessions_;
  StepPlan plan_;
  bool in_flight_ = false;
  bool plan_is_fresh_ = false;
  std::uint64_t next_step_ = 0;
  std::uint64_t next_seq_ = 1;
  PrefixCacheStatistics statistics_;
  CacheDelta cache_delta_;

  SeqMap index_of_;
  std::vector<Sequence> sequences_;
  std::vector<SequenceIndex> free_sequences_;
  std::vector<SequenceIndex> running_;          // in order of admission
  std::vector<SequenceIndex> finishing_;        // in the order in which they ended
  std::vector<SequenceIndex> slice_sequences_;  // of the plan's slices
  WaitQueue queue_;
  DeadlineHeap deadlines_;
  std::uint32_t decoding_count_ = 0;  // running sequences in state decoding
  std::uint32_t budget_ = 0;          // tokens that the step at hand may still run
  PrefixMatch match_;                 // scratch of admission
};

}  // namespace forge
