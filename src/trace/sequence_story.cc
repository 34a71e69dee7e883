#include "forge/trace/sequence_story.h"

#include <algorithm>
#include <ostream>

#include "forge/trace/trace_why.h"
#include "why_words.h"

namespace forge::trace {
namespace {

class Story {
 public:
  void add(StepId step, const std::string& words) {
    const bool goes_on = !parts_.empty() && parts_.back().words == words &&
                         step.value == parts_.back().last.value + 1;
    if (goes_on) {
      parts_.back().last = step;
    } else {
      parts_.push_back({step, step, words});
    }
  }
  std::vector<StoryPart> parts() && { return std::move(parts_); }

 private:
  std::vector<StoryPart> parts_;
};

std::string size_words(const Request& request) {
  return std::to_string(request.prompt.size()) + '+' + std::to_string(request.max_new_tokens) +
         " tokens, " + std::string(name_of(request.priority));
}

/// How the sequence comes into the trace; nothing if it does not by this event.
std::optional<std::string> arrival_words(const TraceEvent& event, SeqId seq) {
  if (const auto* const submit = std::get_if<SubmitEvent>(&event)) {
    if (submit->seq != seq) return std::nullopt;
    return "submitted before it: " + size_words(submit->request);
  }
  const auto* const snapshot = std::get_if<SnapshotEvent>(&event);
  if (snapshot == nullptr) return std::nullopt;
  for (const OpenRequest& open : snapshot->requests) {
    if (open.submit.seq != seq) continue;
    return "there when the trace begins, submitted before step " +
           std::to_string(open.before.value) + ": " + size_words(open.submit.request);
  }
  return std::nullopt;
}

/// The first step that is still to come after the event.
StepId step_after(const TraceEvent& event, const TraceState& before) {
  const auto* const snapshot = std::get_if<SnapshotEvent>(&event);
  return snapshot == nullptr ? before.next_step() : snapshot->scheduler.next_step;
}

/// Nothing if it only runs in this step.
std::optional<std::string> words_of(const StepReasons& reasons, const StepEvent& step, SeqId seq,
                                    const TraceState& after) {
  const auto finish = std::ranges::find(step.plan.finished, seq, &Finish::seq);
  if (finish != step.plan.finished.end()) return "ends: " + std::string(name_of(finish->reason));
  for (const VictimChoice& choice : reasons.victims) {
    if (choice.chosen.seq == seq) return detail::victim_words(choice);
  }
  for (const TurnChoice& choice : reasons.turns) {
    if (choice.chosen.seq == seq) return detail::turn_words(choice);
  }
  const TracedSequence* const sequence = after.find(seq);
  if (sequence == nullptr || !sequence->is_queued) return std::nullopt;
  if (reasons.next == seq) return "waits and is next: " + std::string(name_of(reasons.end));
  const auto candidates = after.candidates();
  const auto same = [&](const TracedCandidate& c) {
    return c.client == sequence->client && c.user == sequence->user;
  };
  const auto own = std::ranges::find_if(candidates, same);
  const SeqId first = own->standing.key.seq;
  if (first != seq) return "waits behind " + std::to_string(first.value) + " of its user";
  const auto before = own - candidates.begin();
  return "waits: " + std::to_string(before) + (before == 1 ? " user has" : " users have") +
         " the turn before its";
}

}  // namespace

tl::expected<std::optional<std::vector<StoryPart>>, TraceError> story_of(TraceReader& trace,
                                                                         SeqId seq) {
  TraceState state(trace.header().scheduler);
  Story story;
  bool is_known = false;
  while (true) {
    const auto event = trace.next();
    if (!event) return tl::unexpected(event.error());
    if (!*event && !is_known) return std::nullopt;
    if (!*event) return std::move(story).parts();
    const auto* const step = std::get_if<StepEvent>(&**event);
    if (step == nullptr) {
      const auto arrival = is_known ? std::nullopt : arrival_words(**event, seq);
      if (arrival) story.add(step_after(**event, state), *arrival);
      is_known = is_known || arrival.has_value();
      if (const auto applied = state.apply(**event); !applied) {
        return tl::unexpected(trace.error_here(applied.error()));
      }
      continue;
    }
    const auto reasons = follow(state, *step);
    if (!reasons) return tl::unexpected(trace.error_here(reasons.error()));
    if (const auto words = words_of(*reasons, *step, seq, state))
      story.add(step->plan.step, *words);
  }
}

tl::expected<bool, TraceError> tell(TraceReader& trace, SeqId seq, std::ostream& out) {
  const auto story = story_of(trace, seq);
  if (!story) return tl::unexpected(story.error());
  if (!*story) return false;
  for (const StoryPart& part : **story) {
    const std::string first = std::to_string(part.first.value);
    const std::string steps = part.first == part.last
                                  ? "step " + first
                                  : "steps " + first + ".." + std::to_string(part.last.value);
    out << steps << std::string(steps.size() < 16 ? 16 - steps.size() : 1, ' ') << part.words
        << '\n';
  }
  return true;
}

}  // namespace forge::trace
