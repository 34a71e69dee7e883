// Scheduler: continuous batching as a state machine.
//
// Events go in (submit, cancel, commit), plans come out (schedule). The scheduler sees
// numbers of tokens and ids of blocks; no thread, clock, model or random number. The same
// events give the same plans, on every machine, every time.
//
//            submit            schedule            schedule
//   Request ---------> waiting ---------> running ----------> finished
//                         ^   admit/resume   |      retire
//                         +------------------+
//                               preempt
//
// Iteration-level scheduling is from Yu et al., "Orca", OSDI 2022; block-wise KV memory
// from Kwon et al., "PagedAttention", SOSP 2023.
//
// One schedule() call, in this order:
//   1. Retire what has finished; its blocks are free for this very step.
//   2. Reserve: every running sequence needs one slot for its last token, plus its drafts.
//   3. While the running batch does not fit: first all drafts are given up, then victims are
//      preempted: fewest output tokens, ties to the higher id. A victim's blocks are freed
//      and it goes to the front of the waiting queue, before every fresh request.
//   4. Admit from the front of the waiting queue while max_batch_size and blocks allow. A
//      sequence is admitted with its full current length (prompt and, when it resumes, the
//      output it already has, which is recomputed) or not at all, and the first that does not fit
//      ends admission: nobody overtakes.
//
// Owns the cache's bookkeeping and the state of all unfinished sequences. Thread contract:
// one thread at a time. Steady state allocates nothing: all memory is reused.
//
// Invariants: see invariants.h, which checks them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "forge/core/paged_kv_cache.h"
#include "forge/core/request.h"
#include "forge/core/step_plan.h"

namespace forge {

struct SchedulerConfig {
  std::uint32_t num_blocks = 512;
  std::uint32_t block_size = 16;      ///< slots (tokens) of a block
  std::uint32_t max_batch_size = 16;  ///< sequences that run in one step

  friend bool operator==(const SchedulerConfig&, const SchedulerConfig&) = default;
};

/// prompt + max_new_tokens exceeds the whole cache: the request could never finish.
struct NeverFits {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t max_new_tokens = 0;
  std::uint64_t capacity_tokens = 0;  ///< num_blocks * block_size, below 2^32 - block_size
  friend bool operator==(const NeverFits&, const NeverFits&) = default;
};
struct EmptyPrompt {
  friend bool operator==(const EmptyPrompt&, const EmptyPrompt&) = default;
};
struct NothingToGenerate {
  friend bool operator==(const NothingToGenerate&, const NothingToGenerate&) = default;
};
using SubmitError = std::variant<NeverFits, EmptyPrompt, NothingToGenerate>;
std::string to_string(const SubmitError& error);

/// Would a scheduler of this configuration take the request? A pure function, so that a
/// server can refuse before it queues.
tl::expected<void, SubmitError> validate(const Request& request, const SchedulerConfig& config);

enum class SequenceState : std::uint8_t { waiting, running, finishing };

/// What the scheduler knows of one unfinished sequence.
struct SequenceView {
  SeqId seq;
  SequenceState state = SequenceState::waiting;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint32_t max_new_tokens = 0;
  std::uint32_t preemptions = 0;
  FinishReason finish = FinishReason::none;  ///< why it ends, once it is finishing

  friend bool operator==(const SequenceView&, const SequenceView&) = default;
};

class Scheduler {
 public:
  /// Requires: every number of `config` at least 1.
  explicit Scheduler(const SchedulerConfig& config);

  /// Takes a request in at the back of the queue. Ids are 1, 2, 3, ... in order of submission.
  tl::expected<SeqId, SubmitError> submit(const Request& request);

  /// Ends a sequence in whatever state it is; the next plan retires it with `reason` (the
  /// first reason given wins). Between schedule() and commit() the step in flight still
  /// completes. Errors: UnknownSequence (never submitted, or retired already).
  tl::expected<void, UnknownSequence> cancel(SeqId seq,
                                             FinishReason reason = FinishReason::cancelled);

  /// Decides the next step. The plan stays valid and unchanged until the next call; copy it
  /// to keep it. Requires: the previous plan has been committed.
  const StepPlan& schedule();

  /// Takes in what the step produced: new tokens, drafts to reserve for, ends.
  /// Requires: `plan` is the one in flight and `result` answers it slice by slice.
  void commit(const StepPlan& plan, const StepResult& result);

  /// True while a sequence is waiting, running or to be retired.
  bool has_work() const { return rows_of_.size() > 0; }
  std::size_t waiting_count() const { return waiting_count_; }
  /// Sequences that hold KV, those to be retired by the next plan included.
  std::size_t running_count() const { return running_.size(); }

  const SchedulerConfig& config() const { return config_; }
  const PagedKVCache& cache() const { return cache_; }
  const StepPlan& plan() const { return plan_; }
  bool in_flight() const { return in_flight_; }

  /// Views for checkers and tools. O(sequences shown).
  std::vector<SequenceView> running() const;
  std::vector<SequenceView> waiting() const;  ///< front of the queue first
  tl::expected<SequenceView, UnknownSequence> view(SeqId seq) const;

 private:
  using RowIndex = std::uint32_t;
  static constexpr RowIndex kNone = 0xffffffff;

  /// One unfinished sequence. Its length is prompt + output; while it runs, the KV of all
  /// but the last token is valid between steps.
  struct Row {
    SequenceView view;
    std::uint32_t drafts = 0;         // slots to reserve beyond the last token
    std::uint32_t target_blocks = 0;  // length of the block table that the target has
    RowIndex previous = kNone;        // neighbours in the waiting queue
    RowIndex next = kNone;

    std::uint32_t length() const { return view.prompt_tokens + view.output_tokens; }
  };

  // The four parts of schedule(), in order.
  void retire();
  void make_room();
  void plan_decodes();
  void admit();

  std::uint32_t blocks_to_decode(const Row& row) const;
  std::uint64_t blocks_to_decode_all() const;
  std::size_t choose_victim() const;
  void preempt(std::size_t running_index);
  void reserve(Row& row, std::uint32_t tokens);

  void commit_slice(const Slice& slice, const SliceResult& result, RowIndex index);
  void finish(RowIndex index, FinishReason reason);

  void push_waiting_front(RowIndex index);
  void push_waiting_back(RowIndex index);
  void unlink_waiting(RowIndex index);

  SchedulerConfig config_;
  PagedKVCache cache_;
  StepPlan plan_;
  bool in_flight_ = false;
  std::uint64_t next_step_ = 0;
  std::uint64_t next_seq_ = 1;

  SeqMap rows_of_;
  std::vector<Row> rows_;
  std::vector<RowIndex> free_rows_;
  std::vector<RowIndex> running_;    // in order of admission; the order of the plan's slices
  std::vector<RowIndex> finishing_;  // in the order in which they ended
  RowIndex waiting_front_ = kNone;
  RowIndex waiting_back_ = kNone;
  std::size_t waiting_count_ = 0;
};

}  // namespace forge
