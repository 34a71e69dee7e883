// Schedules as text, a row a step (core/notation.h), so that a test can compare a whole run with a
// table.
#pragma once

#include <string>

#include "forge/core/notation.h"
#include "forge/core/scheduler.h"

namespace forge::testing {

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
    table += plan_row(plan) + "\n";
    scheduler.commit(plan, one_token_each(plan));
  }
  return table;
}

}  // namespace forge::testing
