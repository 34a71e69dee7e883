// Why a step is as it is: who could have been chosen, and by which rule of policy.h, from a trace
// alone.
//
//   $ forge-trace why run.jsonl --at 14
//   step 14
//     3 gives way (recompute): blocks are short
//       3  normal, 2 output tokens          lower priority, fewer output tokens, higher id
//       1  normal, 9 output tokens
//   $ forge-trace why run.jsonl --at 15
//   step 15
//     7 is admitted: its client has had less
//       7  client 2 has had 0, user 0 0, place 71
//       9  client 1 has had 64, user 0 0, place 73
//     9 is next and waits: the batch is full
//
// The reasons are values: tools read them, print() writes them (and trace_why_json.h as JSON).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/names.h"
#include "forge/core/policy.h"
#include "forge/trace/trace_reader.h"
#include "forge/trace/trace_state.h"

namespace forge::trace {

/// A sequence gave way, of those that ran: the first candidate (is_better_victim).
struct VictimChoice {
  Preemption chosen;
  std::vector<SequenceView>
      candidates;  ///< seq, priority and output_tokens, the first choice first
};

/// What decided between the candidate that was admitted and the one after it.
enum class TurnRule : std::uint8_t {
  only_one,         ///< no other user waited
  it_resumes,       ///< what has begun goes before what has not
  earlier_place,    ///< both have begun, or all else is equal: admission_key
  client_had_less,  ///< Share::served of the clients
  client_waits_longer,
  user_had_less,
  user_waits_longer,
};
constexpr Names<TurnRule> names_of(TurnRule) {
  return {"no other user waits",
          "what has begun goes first",
          "it has the earlier place",
          "its client has had less",
          "its client has had as much, and its last turn is longer ago",
          "its user has had less",
          "its user has had as much, and its last turn is longer ago"};
}

/// A sequence entered the batch: the first of the candidates, one of each user (has_turn_before).
struct TurnChoice {
  Admission chosen;
  bool resumes = false;
  TurnRule rule = TurnRule::only_one;
  std::vector<TracedCandidate> candidates;
};

/// Why the next one of the queue was not admitted, too.
enum class AdmissionEnd : std::uint8_t {
  nobody_waits,
  preempted,     ///< a step that preempts admits nobody
  batch_full,    ///< max_batch_size
  no_tokens,     ///< max_batch_tokens, or prompt_budget
  does_not_fit,  ///< in the blocks that are available, but for those kept free
};
constexpr Names<AdmissionEnd> names_of(AdmissionEnd) {
  return {"nobody waits", "a step that preempts admits nobody", "the batch is full",
          "no token of the step is left", "the blocks that are left do not hold it"};
}

struct StepReasons {
  StepId step;
  std::vector<VictimChoice> victims;
  std::vector<TurnChoice> turns;
  AdmissionEnd end = AdmissionEnd::nobody_waits;
  std::optional<SeqId> next;  ///< the one that is the front of the queue then
};

/// The reasons of a step. `state` has followed all events before it and follows the step. Errors:
/// as TraceState::apply().
tl::expected<StepReasons, std::string> follow(TraceState& state, const StepEvent& step);

void print(const StepReasons& reasons, std::ostream& out);

/// The reasons of one step of a trace; nothing if it has no such step. Errors: the trace cannot be
/// read or contradicts itself.
tl::expected<std::optional<StepReasons>, TraceError> reasons_of(TraceReader& trace, StepId step);

/// Writes the story of a sequence (sequence_story.h), a line for each part. Returns: false if the
/// trace has no such sequence. Errors: the trace cannot be read or contradicts itself.
tl::expected<bool, TraceError> tell(TraceReader& trace, SeqId seq, std::ostream& out);

}  // namespace forge::trace
