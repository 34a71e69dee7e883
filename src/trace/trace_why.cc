#include "forge/trace/trace_why.h"

#include <algorithm>
#include <ostream>
#include <set>

#include "why_words.h"

namespace forge::trace {
namespace {

std::vector<VictimChoice> victims_of(const TraceState& before, const StepPlan& plan) {
  std::vector<SequenceView> running;
  if (plan.preempted.empty()) return {};
  for (const TracedSequence* s : before.batch()) {
    if (std::ranges::find(plan.finished, s->seq, &Finish::seq) != plan.finished.end()) continue;
    running.push_back({.seq = s->seq, .priority = s->priority, .output_tokens = s->output_tokens});
  }
  std::ranges::sort(running, is_better_victim);
  std::vector<VictimChoice> victims;
  for (const Preemption& preemption : plan.preempted) {
    victims.push_back({preemption, running});
    std::erase_if(running, [&](const SequenceView& v) { return v.seq == preemption.seq; });
  }
  return victims;
}

/// Requires: the candidates are in order.
TurnRule rule_of(const std::vector<TracedCandidate>& candidates) {
  if (candidates.size() < 2) return TurnRule::only_one;
  const Candidate& first = candidates[0].standing;
  const Candidate& second = candidates[1].standing;
  if (first.resumes != second.resumes) return TurnRule::it_resumes;
  if (first.resumes) return TurnRule::earlier_place;
  if (first.client.served != second.client.served) return TurnRule::client_had_less;
  if (first.client.turn != second.client.turn) return TurnRule::client_waits_longer;
  if (first.user.served != second.user.served) return TurnRule::user_had_less;
  if (first.user.turn != second.user.turn) return TurnRule::user_waits_longer;
  return TurnRule::earlier_place;
}

AdmissionEnd end_of(const TraceState& after, const StepPlan& plan) {
  const SchedulerConfig& config = after.config();
  std::uint64_t tokens = 0;
  std::uint64_t of_prompts = 0;
  for (const Slice& slice : plan.slices) tokens += slice.count;
  for (const Slice& slice : plan.prefill_batch()) of_prompts += slice.count;
  if (!plan.preempted.empty()) return AdmissionEnd::preempted;
  if (after.running_count() >= config.batch.max_batch_size) return AdmissionEnd::batch_full;
  const bool is_spent =
      tokens >= config.batch.max_batch_tokens || of_prompts >= prompt_budget(plan.decodes, config);
  return is_spent ? AdmissionEnd::no_tokens : AdmissionEnd::does_not_fit;
}

}  // namespace

tl::expected<StepReasons, std::string> follow(TraceState& state, const StepEvent& step) {
  StepReasons reasons{.step = step.plan.step, .victims = victims_of(state, step.plan)};
  const auto applied = state.apply(step, [&](SeqId seq) {
    TurnChoice turn{.candidates = state.candidates()};
    for (const auto* entered : {&step.plan.admitted, &step.plan.resumed}) {
      const auto found = std::ranges::find(*entered, seq, &Admission::seq);
      if (found == entered->end()) continue;
      turn.chosen = *found;
      turn.resumes = entered == &step.plan.resumed;
    }
    turn.rule = rule_of(turn.candidates);
    reasons.turns.push_back(std::move(turn));
  });
  if (!applied) return tl::unexpected(applied.error());
  const std::vector<TracedCandidate> waiting = state.candidates();
  if (waiting.empty()) return reasons;
  reasons.next = waiting.front().standing.key.seq;
  reasons.end = end_of(state, step.plan);
  return reasons;
}

tl::expected<std::optional<StepReasons>, TraceError> reasons_of(TraceReader& trace, StepId step) {
  TraceState state(trace.header().scheduler);
  while (true) {
    const auto event = trace.next();
    if (!event) return tl::unexpected(event.error());
    if (!*event) return std::nullopt;
    const auto* const at = std::get_if<StepEvent>(&**event);
    if (at != nullptr && at->plan.step == step) {
      auto reasons = follow(state, *at);
      if (!reasons) return tl::unexpected(trace.error_here(reasons.error()));
      return *std::move(reasons);
    }
    if (const auto applied = state.apply(**event); !applied) {
      return tl::unexpected(trace.error_here(applied.error()));
    }
  }
}

void print(const StepReasons& reasons, std::ostream& out) {
  out << "step " << reasons.step.value << '\n';
  for (const VictimChoice& choice : reasons.victims) {
    out << "  " << detail::victim_words(choice) << '\n';
    for (const SequenceView& v : choice.candidates)
      out << "    " << detail::standing_words(v) << '\n';
  }
  for (const TurnChoice& choice : reasons.turns) {
    out << "  " << detail::turn_words(choice) << '\n';
    for (const TracedCandidate& c : choice.candidates) {
      out << "    " << detail::standing_words(c) << '\n';
    }
  }
  out << "  " << detail::end_words(reasons) << '\n';
}

}  // namespace forge::trace
