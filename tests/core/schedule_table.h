// A schedule as text: one row a step, so that a test can compare a whole run with a table.
//
//   step | queue changes                | blocks taken  | slices
//   0    | +1 +2                        | 1:0,1 2:2,3   | 1[0,2) 2[0,2)
//   2    | -2                           | 1:4           | 1[3,4)
//
// +n admitted, ^n resumed, -n preempted, !n finished. A slice with drafts shows them: 1[3,6)d2.
#pragma once

#include <sstream>
#include <string>

#include "forge/core/scheduler.h"

namespace forge::testing {

inline std::string row(const StepPlan& plan) {
  std::ostringstream out;
  out << plan.step.value << " |";
  for (const Finish& finish : plan.finished) out << " !" << finish.seq.value;
  for (const Preemption& preemption : plan.preempted) out << " -" << preemption.seq.value;
  for (const SeqId seq : plan.resumed) out << " ^" << seq.value;
  for (const SeqId seq : plan.admitted) out << " +" << seq.value;
  out << " |";
  for (const TableDelta& delta : plan.tables) {
    out << ' ' << delta.seq.value << ':';
    const auto blocks = plan.appended(delta);
    for (std::size_t i = 0; i < blocks.size(); ++i) out << (i > 0 ? "," : "") << blocks[i].value;
  }
  out << " |";
  for (const Slice& slice : plan.slices) {
    out << ' ' << slice.seq.value << '[' << slice.first << ',' << slice.first + slice.count << ')';
    if (slice.drafts > 0) out << 'd' << slice.drafts;
  }
  return out.str();
}

/// The answer of a target that accepts nothing it was not asked to: one token a slice (token id
/// 7), and `drafts` wanted next.
inline StepResult one_token_each(const StepPlan& plan, std::uint32_t drafts = 0) {
  StepResult result;
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    const auto first = static_cast<std::uint32_t>(result.tokens.size());
    result.slices.push_back(
        {.seq = slice.seq, .first_token = first, .token_count = 1, .drafts = drafts});
    result.tokens.push_back(TokenId{7});
  }
  return result;
}

/// Request of `prompt` tokens that may produce `max_new` more.
inline Request request(std::size_t prompt, std::uint32_t max_new) {
  return {.prompt = std::vector<TokenId>(prompt, TokenId{5}), .max_new_tokens = max_new};
}

/// Runs the scheduler until it has no work and returns one row a step.
inline std::string run_to_end(Scheduler& scheduler) {
  std::string table;
  while (scheduler.has_work()) {
    const StepPlan& plan = scheduler.schedule();
    table += row(plan) + "\n";
    scheduler.commit(plan, one_token_each(plan));
  }
  return table;
}

}  // namespace forge::testing
