// The policy: each decision of the scheduler that could have been another one, as a pure function.
//
//   question                                     asked by               answered by
//   whose turn is it?                            WaitQueue, TraceState  has_turn_before
//   which of that user's requests is it?         WaitQueue, TraceState  admission_key
//   what is a token worth that runs?             FairShares             served_by
//   how many blocks does admission leave?        fits, may_fit,         blocks_kept_free
//                                                EngineLoop
//   how many tokens of prompts run in a step?    plan_decodes           prompt_budget
//   how much of a prompt runs in this step?      plan_chunk             prompt_chunk
//   how many drafts does a sequence want?        commit_slice           drafts_wanted
//   how many drafts run in this step?            make_room              drafts_kept
//   who gives way when blocks are short?         choose_victim          is_better_victim
//   is a victim's KV dropped or swapped?         preempt                preemption_mode
//   do sessions give way instead?                make_room, admit       sessions_give_way
//   which session is the first to?               SessionTable           gives_way_before
//
// Values in, a value out: no function knows the scheduler, a clock or a random number, so each can
// be read, tested and changed by itself, in src/core/policy.cc. The scheduler (scheduler.h) is the
// mechanism that asks them. Blocks are counted right and KV is that of its own tokens whatever they
// answer; what an answer must keep to, so that every sequence comes to an end, is said below as
// `Promises need`. book/changing_the_policy.md changes two of them and shows how the promises are
// checked then.
//
// These rules are not here, because the promises rest on them: decodes go before prompts; drafts
// are given up before sequences; a sequence is admitted with the blocks of all its tokens or not at
// all; a step that preempts admits no sequence; the first sequence that does not fit ends
// admission.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "forge/core/draft_history.h"
#include "forge/core/scheduler_config.h"
#include "forge/core/sequence_view.h"
#include "forge/core/session_view.h"

namespace forge {

/// A place among the requests of a user: the smallest goes first, ties to the earlier submission.
struct AdmissionKey {
  std::uint64_t place = 0;
  SeqId seq;
  friend auto operator<=>(const AdmissionKey&, const AdmissionKey&) = default;
};

/// The place where a sequence waits, among those of its user. The scheduler asks for it when the
/// sequence is submitted and each time it has been preempted.
///
///   place = sequence id + priority_head_start * (levels below high)      high 0, normal 1, low 2
///
/// Ids count submissions, so a place is one in the order of arrival, moved back by a fixed number
/// of places for each level. That is all the aging there is, and it needs no clock and no pass over
/// the queue: of two requests that wait, the order never changes. A preempted sequence comes back
/// to the same place (as in vLLM, Kwon et al., SOSP 2023, where preempted requests go before new
/// ones).
///
/// Promises need: fields of the view that do not change while it waits (seq, priority, the numbers
/// of tokens of prompt, output and limit); the bound of overtakers_max.
AdmissionKey admission_key(const SequenceView& view, const SchedulerConfig& config);

/// The promise of admission_key: while a request of this priority waits, at most this many requests
/// of its user that were submitted later are admitted for the first time, counted over its whole
/// life. Request n with l levels below high is overtaken by n + 1 .. n + l * head start - 1 alone.
/// What other users and clients may take meanwhile, shares say (fair_shares.h).
std::uint64_t overtakers_max(Priority priority, const SchedulerConfig& config);

/// What a client, or a user of one, has had of the machine (fair_shares.h).
struct Share {
  std::uint64_t served = 0;  ///< in the unit of served_by
  std::uint64_t turn = 0;    ///< counts: when it last took a turn, or began to wait
  friend auto operator<=>(const Share&, const Share&) = default;
};

/// What counts for a client of this weight when `tokens` run for it: thousandths of a token.
/// Promises need: at least 1 for a token, and for more tokens not less.
std::uint64_t served_by(std::uint32_t tokens, std::uint32_t weight);

/// The next request of a user, by admission_key, and how the user stands.
struct Candidate {
  bool resumes = false;  ///< it has been in the batch before
  Share client;
  Share user;
  AdmissionKey key;
};

/// Is `a` admitted before `b`? They are of two users, of one client or of two. What has begun goes
/// first. Of two new ones it is that of the client that has had less, then of the user that has,
/// and if they have had the same, of the one whose last turn is longer ago.
/// Promises need: a strict order of all candidates; new ones by what their clients were served.
bool has_turn_before(const Candidate& a, const Candidate& b);

/// Blocks that stay available when a sequence is admitted: the watermark, into which the running
/// sequences may grow before one has to be preempted, or more, so that memory_pressure is not
/// exceeded. It is 0 while none run.
/// Promises need: 0 while none run.
std::uint32_t blocks_kept_free(std::size_t running, const SchedulerConfig& config);

/// The number of tokens that prompts may run in a step in which so many sequences decode.
/// Promises need: at least 1; max_batch_tokens where none decode.
std::uint32_t prompt_budget(std::size_t decoding, const SchedulerConfig& config);

/// The number of tokens of a prompt (or of one that is computed again) that run in this step, which
/// has `budget` tokens left: a chunk, so that no prompt makes decoding sequences wait for long
/// (Agrawal et al., "Sarathi-Serve", OSDI 2024).
/// Requires: budget at least 1, and a token that has not been computed.
/// Promises need: 1 .. min(budget, tokens not computed, prefill_chunk_size).
std::uint32_t prompt_chunk(const SequenceView& view, std::uint32_t budget,
                           const SchedulerConfig& config);

/// The number of drafts, of the `offered` ones, that a sequence wants in its next step.
///
/// `fixed` wants all. `adaptive` goes by what became of the last ones, so that long drafts are run
/// where the text can be foreseen and none where it cannot:
///
///   acceptance = kept / judged, over the last 32 (draft_history.h)
///   length     = ceil(1 / (1 - acceptance)), 1 to 8; it is 8 where all were kept
///
/// That is the number of drafts at which the first bad one is to be expected. A sequence begins at
/// 4. Where acceptance is below draft_break_even, drafts cost more than they yield: then there are
/// none, but for one every 64 tokens, as a probe; if that one is kept, the sequence begins anew.
/// The first 8 drafts of a history are its trial: it is below before their end only if it would be
/// with all that are left kept.
/// Promises need: at most `offered`.
std::uint32_t drafts_wanted(std::uint32_t offered, const DraftHistory& history,
                            const SchedulerConfig& config);

/// What a step has room for beside the token that each decoding sequence runs.
struct DraftRoom {
  std::uint32_t tokens = 0;  ///< left by decodes and by the drafts of sequences admitted before
  bool blocks_are_short = false;
};

/// The number of drafts that a sequence runs, of the `wanted` ones: first come, first served, and
/// none for any sequence when blocks are short, since drafts are only guesses.
/// Promises need: at most min(wanted, tokens); 0 when blocks are short.
std::uint32_t drafts_kept(std::uint32_t wanted, const DraftRoom& room);

/// Does `a` give way rather than `b`? Both run, and blocks are short. The one of lower priority
/// does, then the one with fewer output tokens (the least work is lost), then the one with the
/// higher id.
/// Promises need: any strict order of the running sequences.
bool is_better_victim(const SequenceView& a, const SequenceView& b);

/// What becomes of a victim's KV. `automatic` chooses the cheaper mode (vLLM offers both): a swap
/// of b blocks, out and in, costs swap_setup_cost + b * swap_block_cost, counted in tokens;
/// recomputing t tokens costs t; ties are recomputed. The scheduler asks only for a victim that has
/// KV for which the host has room; any other is recomputed.
PreemptionMode preemption_mode(const SequenceView& victim, const SchedulerConfig& config);

/// When blocks are short: does a session lose its KV, if one has any, before a sequence gives way
/// or waits? `others` are the sequences that run beside the one that needs blocks.
/// Promises need: true where there are no others, because then nothing else can give way.
bool sessions_give_way(std::size_t others);

/// Is the KV of session `a` given up before that of `b`? Idle sessions go first, the longest idle
/// of them first (ties to the lower id), then active ones, the lowest id first.
/// Promises need: a strict order of all sessions.
bool gives_way_before(const SessionView& a, const SessionView& b);

}  // namespace forge
