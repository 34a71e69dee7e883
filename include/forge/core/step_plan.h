// StepPlan and StepResult: one step of the engine, decided and done, as values.
//
//   submit(Request) --+
//   cancel(SeqId) ----+--> Scheduler --schedule()--> StepPlan ------> Executor
//                              ^                                         |
//                              +------commit()------ StepResult <--------+
//
// A plan says which tokens run and which blocks of KV cache they may use; a result
// says which tokens came out. Nothing else passes between policy and target, so a
// log of plans and results is the run: it can be stored, compared, replayed.
//
// There is no prefill phase and no decode phase in a plan, only tokens whose KV is
// not computed yet. A decode is a slice of one; a prompt chunk is a slice of many.
//
// Plans carry deltas, not whole block tables: their size follows the work of the
// step, and a target keeps its own tables. All lists are flat, so that a plan that
// is reused from step to step allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/names.h"

namespace forge {

/// Run the tokens [first, first + count) of `seq` and write their KV.
///
///   position   0             first                first + count
///              | KV is valid | this slice runs it |
///                                      |<-drafts->|
///
/// The last `drafts` tokens are speculative: the draft model proposes them, and the model verifies
/// them in the same forward pass.
struct Slice {
  SeqId seq;
  std::uint32_t first = 0;   ///< tokens of `seq` whose KV is valid before the step
  std::uint32_t count = 0;   ///< tokens to run, drafts included; at least 1
  std::uint32_t drafts = 0;  ///< less than count
  bool samples = false;      ///< reaches the end of the known tokens and yields new ones

  friend bool operator==(const Slice&, const Slice&) = default;
};

/// A sequence that enters the batch. The KV of its first `cached_tokens` tokens is in its blocks
/// once the plan's copies are done: shared with others, copied from them or, after a swap,
/// copied back. Its first slice starts there.
struct Admission {
  SeqId seq;
  std::uint32_t cached_tokens = 0;

  friend bool operator==(const Admission&, const Admission&) = default;
};

/// How a preempted sequence gets its KV back: by running its tokens again, or from host memory, to
/// which the plan's copies take it.
enum class PreemptionMode : std::uint8_t { recompute, swap };
constexpr Names<PreemptionMode> names_of(PreemptionMode) { return {"recompute", "swap"}; }

struct Preemption {
  SeqId seq;
  PreemptionMode mode = PreemptionMode::recompute;

  friend bool operator==(const Preemption&, const Preemption&) = default;
};

enum class FinishReason : std::uint8_t {
  none,       ///< not finished
  length,     ///< max_new_tokens reached
  eos,        ///< the model ended the sequence
  stop,       ///< a stop string was met (decided above the core)
  cancelled,  ///< the caller gave up
  error,      ///< the target failed
  deadline,   ///< the request's time was up
};
constexpr Names<FinishReason> names_of(FinishReason) {
  return {"none", "length", "eos", "stop", "cancelled", "error", "deadline"};
}

struct Finish {
  SeqId seq;
  FinishReason reason = FinishReason::none;

  friend bool operator==(const Finish&, const Finish&) = default;
};

/// The memories between which a block is copied. Host blocks are numbered 0 .. num_host_blocks - 1.
enum class CopyKind : std::uint8_t {
  within,    ///< device to device: copy-on-write of a shared block
  swap_out,  ///< device to host
  swap_in,   ///< host to device
};
constexpr Names<CopyKind> names_of(CopyKind) { return {"within", "swap_out", "swap_in"}; }

/// Copy one whole block of KV. Copies are done in the order of the list, before the slices run:
/// a later one may overwrite what an earlier one has read.
struct BlockCopy {
  CopyKind kind = CopyKind::within;
  BlockId from;
  BlockId to;

  friend bool operator==(const BlockCopy&, const BlockCopy&) = default;
};

/// Change of one block table: keep `truncated_to` blocks, then append
/// appended_blocks[appended_first, appended_first + appended_count).
/// A sequence that is admitted starts from an empty table.
struct TableDelta {
  SeqId seq;
  std::uint32_t truncated_to = 0;
  std::uint32_t appended_first = 0;
  std::uint32_t appended_count = 0;

  friend bool operator==(const TableDelta&, const TableDelta&) = default;
};

/// Everything a target needs to know for one step. Applied in this order: `finished` and
/// `preempted` sequences drop their tables, `copies`, `tables`, `slices`. A block that one delta
/// cuts off may be appended by another, earlier or later in the list: code that tracks owners
/// applies all truncations first.
struct StepPlan {
  StepId step;
  std::vector<Admission> admitted;    ///< first time in the batch
  std::vector<Admission> resumed;     ///< back in the batch after a preemption
  std::vector<Preemption> preempted;  ///< out of the batch, in the order chosen
  std::vector<Finish> finished;       ///< retired; never named again
  std::vector<BlockCopy> copies;
  std::vector<TableDelta> tables;  ///< in slice order, at most one a sequence
  std::vector<BlockId> appended_blocks;
  std::vector<Slice> slices;  ///< decodes first, then prompt chunks and sequences just resumed
  std::uint32_t decodes = 0;  ///< how many leading slices are decodes

  std::span<const Slice> decode_batch() const { return std::span(slices).first(decodes); }
  std::span<const Slice> prefill_batch() const { return std::span(slices).subspan(decodes); }
  std::span<const BlockId> appended(const TableDelta& delta) const {
    return std::span(appended_blocks).subspan(delta.appended_first, delta.appended_count);
  }
  /// Empties the lists and keeps their memory.
  void clear();

  friend bool operator==(const StepPlan&, const StepPlan&) = default;
};

/// What a target says about the end of a sequence.
enum class FinishSignal : std::uint8_t {
  none,
  eos,
  error,          ///< the target could not run the slice: none of its KV may be used
  not_finite,     ///< it could, but the logits for the next token are NaN, or infinite
  no_token,       ///< no token of the vocabulary leads on to a text of the request's grammar
  grammar_limit,  ///< which tokens do takes more work than a grammar may take
};
constexpr Names<FinishSignal> names_of(FinishSignal) {
  return {"none", "eos", "error", "not_finite", "no_token", "grammar_limit"};
}

/// The sequence ends with FinishReason::error, by its own fault or the target's.
inline bool has_failed(FinishSignal signal) {
  return signal != FinishSignal::none && signal != FinishSignal::eos;
}

/// Answer to one slice: its new tokens are tokens[first_token, first_token + token_count).
///
/// A slice that samples yields 1 .. drafts + 1 tokens (accepted drafts, then one of the model's
/// own), fewer than that only when the last one is eos; one that does not sample yields none. With
/// `error` it yields none and the sequence is retired, likewise with `not_finite`, `no_token` and
/// `grammar_limit`, which only a slice that samples has.
struct SliceResult {
  SeqId seq;
  std::uint32_t first_token = 0;
  std::uint32_t token_count = 0;
  FinishSignal signal = FinishSignal::none;
  /// The number of drafts that the target offers, to verify for this sequence in the next step.
  std::uint32_t drafts = 0;

  friend bool operator==(const SliceResult&, const SliceResult&) = default;
};

/// A token and the natural logarithm of its probability.
struct TokenLogprob {
  TokenId token;
  float logprob = 0.0F;

  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

/// What a request asked to be told of one of its tokens (SamplingParams::logprobs and after it).
/// Log-probabilities are of the softmax of the logits as the model gave them
/// (sampling/log_softmax.h).
struct TokenReport {
  SeqId seq;
  std::uint32_t position = 0;  ///< in prompt and output together
  TokenId token;               ///< that at the position
  float logprob = 0.0F;
  /// By how much logits would have to change, one against another, for another token to be picked;
  /// the largest float where there is no other, 0 where nobody asked.
  float margin = 0.0F;
  /// The most likely tokens are likely[first_likely, first_likely + likely_count), the best first.
  std::uint32_t first_likely = 0;
  std::uint32_t likely_count = 0;

  friend bool operator==(const TokenReport&, const TokenReport&) = default;
};

/// slices[i] answers plan.slices[i].
///
/// When the target was lost in the step and has been opened again, all KV is gone: that of every
/// sequence, on the device and on the host, and that of the prefix cache. Then no slice of the step
/// has happened, its answers are without tokens, and every sequence that was in the batch runs
/// again from its first token. So a lost target costs time and no request.
struct StepResult {
  StepId step;
  std::vector<SliceResult> slices;
  std::vector<TokenId> tokens;
  /// Digest of the logits that each token was picked from, parallel to `tokens`;
  /// empty unless the target was asked for it.
  std::vector<std::uint64_t> logits;
  /// Of the requests that asked, in slice order, then by position. They follow from the logits, so
  /// they are no part of the digest.
  std::vector<TokenReport> reports;
  std::vector<TokenLogprob> likely;
  bool kv_lost = false;

  std::span<const TokenLogprob> likely_of(const TokenReport& report) const {
    return std::span(likely).subspan(report.first_likely, report.likely_count);
  }
  std::span<const TokenId> tokens_of(const SliceResult& slice) const {
    return std::span(tokens).subspan(slice.first_token, slice.token_count);
  }
  void clear();

  friend bool operator==(const StepResult&, const StepResult&) = default;
};

/// The answer to a plan that the target could not run: every sequence of it ends with an error.
void fail_step(const StepPlan& plan, StepResult& result);

/// The answer to a plan in whose step all KV was lost.
void lose_step(const StepPlan& plan, StepResult& result);

/// What a target has to take in of a plan in whose step all KV is lost: who left and entered the
/// batch, and nothing that runs.
StepPlan bookkeeping_of(const StepPlan& plan);

/// Digests over the byte form of digest.h, fields in the order declared above; kv_lost is a part
/// of it only if it is true.
std::uint64_t digest(const StepPlan& plan);
std::uint64_t digest(const StepResult& result);

/// The digest of a run: each step's link hashes the previous link, its plan and its
/// result. Two runs agree up to a step exactly when their links there agree.
class RunDigest {
 public:
  RunDigest() = default;
  /// Goes on after a step with this link.
  explicit RunDigest(std::uint64_t link) : link_(link) {}

  std::uint64_t add(const StepPlan& plan, const StepResult& result);
  std::uint64_t value() const { return link_; }

 private:
  std::uint64_t link_ = 0;
};

}  // namespace forge
