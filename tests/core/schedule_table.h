// A schedule as text: one row a step, so that a test can compare a whole run with a table.
//
//   step | queue changes | copies, if any | blocks taken  | slices
//   0    | +1 +2                          | 1:0,1 2:2,3   | 1[0,2) 2[0,2)
//   2    | ~2            | 2>0 3>1        | 1:4           | 1[3,4)
//
// +n admitted, ^n resumed, -n preempted, ~n preempted by swap, !n finished; +n@8: with 8 cached
// tokens. Copies: 3=5 within the device, 3>0 to the host, 0<3 back from it.
// A slice with drafts shows them: 1[3,6)d2; one that does not sample ends with a dot.
#pragma once

#include <sstream>
#include <string>

#include "forge/core/scheduler.h"

namespace forge::testing {

inline std::string row(const StepPlan& plan) {
  std::ostringstream out;
  out << plan.step.value << " |";
  for (const Finish& finish : plan.finished) out << " !" << finish.seq.value;
  for (const Preemption& preemption : plan.preempted) {
    out << (preemption.mode == PreemptionMode::swap ? " ~" : " -") << preemption.seq.value;
  }
  const auto admission = [&](char sign, const Admission& a) {
    out << ' ' << sign << a.seq.value;
    if (a.cached_tokens > 0) out << '@' << a.cached_tokens;
  };
  for (const Admission& resumed : plan.resumed) admission('^', resumed);
  for (const Admission& admitted : plan.admitted) admission('+', admitted);
  out << " |";
  for (const BlockCopy& copy : plan.copies) {
    const char arrow = copy.kind == CopyKind::within     ? '='
                       : copy.kind == CopyKind::swap_out ? '>'
                                                         : '<';
    out << ' ' << copy.from.value << arrow << copy.to.value;
  }
  if (!plan.copies.empty()) out << " |";
  for (const TableDelta& delta : plan.tables) {
    out << ' ' << delta.seq.value << ':';
    const auto blocks = plan.appended(delta);
    for (std::size_t i = 0; i < blocks.size(); ++i) out << (i > 0 ? "," : "") << blocks[i].value;
  }
  out << " |";
  for (const Slice& slice : plan.slices) {
    out << ' ' << slice.seq.value << '[' << slice.first << ',' << slice.first + slice.count << ')';
    if (slice.drafts > 0) out << 'd' << slice.drafts;
    if (!slice.samples) out << '.';
  }
  return out.str();
}

/// The answer of a target that accepts no draft: one token (id 7) for each slice that samples,
/// and `drafts` wanted next.
inline StepResult one_token_each(const StepPlan& plan, std::uint32_t drafts = 0) {
  StepResult result;
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    const auto first = static_cast<std::uint32_t>(result.tokens.size());
    const std::uint32_t count = slice.samples ? 1 : 0;
    result.slices.push_back({.seq = slice.seq,
                             .first_token = first,
                             .token_count = count,
                             .drafts = slice.samples ? drafts : 0});
    result.tokens.resize(first + count, TokenId{7});
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
