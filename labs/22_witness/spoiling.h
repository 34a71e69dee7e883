// Runs that are changed after they were recorded: {"block": [4, 2]} makes entry 4 of all the table
// entries in the plans of a run block 2. What is changed may break a promise, or break none.
//
// Of the two numbers the first one chooses a place (counted round and round; a run that has no such
// place stays as it is), the second one what is to be there.
#pragma once

#include <functional>
#include <map>
#include <span>

#include "answering.h"
#include "witness.h"

namespace forge::labs::witness {

struct Spoil {
  std::uint32_t place = 0;
  std::uint32_t value = 0;

  template <class Element>
  Element* chosen(const std::vector<Element*>& all) const {
    return all.empty() ? nullptr : all[place % all.size()];
  }
};

/// All elements of a list of the steps of a run, or of their plans.
template <class Element>
std::vector<Element*> all_of(Run& run, std::vector<Element> Step::*list) {
  std::vector<Element*> all;
  for (Step& step : run.steps) {
    for (Element& element : step.*list) all.push_back(&element);
  }
  return all;
}
template <class Element>
std::vector<Element*> all_of(Run& run, std::vector<Element> StepPlan::*list) {
  std::vector<Element*> all;
  for (Step& step : run.steps) {
    for (Element& element : step.plan.*list) all.push_back(&element);
  }
  return all;
}

inline Slice* slice_of(Run& run, const Spoil& spoil) {
  return spoil.chosen(all_of(run, &StepPlan::slices));
}

inline Submission* submission_of(Run& run, const Spoil& spoil) {
  return spoil.chosen(all_of(run, &Step::submitted));
}

inline Admission* admission_of(Run& run, const Spoil& spoil) {
  std::vector<Admission*> all = all_of(run, &StepPlan::admitted);
  const std::vector<Admission*> again = all_of(run, &StepPlan::resumed);
  all.insert(all.end(), again.begin(), again.end());
  return spoil.chosen(all);
}

// ---- Slices ---------------------------------------------------------------------

inline void spoil_first(Run& run, const Spoil& spoil) {
  Slice* const slice = slice_of(run, spoil);
  if (slice != nullptr) slice->first = spoil.value;
}

inline void spoil_count(Run& run, const Spoil& spoil) {
  Slice* const slice = slice_of(run, spoil);
  if (slice != nullptr) slice->count = spoil.value;
}

/// Some of the tokens of a slice are called drafts.
inline void spoil_drafts(Run& run, const Spoil& spoil) {
  Slice* const slice = slice_of(run, spoil);
  if (slice != nullptr) slice->drafts = spoil.value;
}

/// A slice has so many drafts more, behind its tokens.
inline void spoil_more_drafts(Run& run, const Spoil& spoil) {
  Slice* const slice = slice_of(run, spoil);
  if (slice == nullptr) return;
  slice->drafts += spoil.value;
  slice->count += spoil.value;
}

inline void spoil_samples(Run& run, const Spoil& spoil) {
  Slice* const slice = slice_of(run, spoil);
  if (slice != nullptr) slice->samples = !slice->samples;
}

/// A step runs nothing.
inline void spoil_idle(Run& run, const Spoil& spoil) {
  if (run.steps.empty()) return;
  Step& step = run.steps[spoil.place % run.steps.size()];
  step.plan.slices.clear();
  step.plan.decodes = 0;
  step.result = {.step = step.plan.step};
}

// ---- Tables ---------------------------------------------------------------------

inline void spoil_block(Run& run, const Spoil& spoil) {
  BlockId* const block = spoil.chosen(all_of(run, &StepPlan::appended_blocks));
  if (block != nullptr) *block = BlockId{spoil.value % run.config.cache.num_blocks};
}

/// Two entries of a table change places, this one and that before it.
inline void spoil_places(Run& run, const Spoil& spoil) {
  std::vector<std::span<BlockId>> all;
  for (Step& step : run.steps) {
    for (const TableDelta& delta : step.plan.tables) {
      if (delta.appended_count < 2) continue;
      all.push_back(
          std::span(step.plan.appended_blocks).subspan(delta.appended_first, delta.appended_count));
    }
  }
  if (all.empty()) return;
  const std::span<BlockId> blocks = all[spoil.place % all.size()];
  const std::size_t place = 1 + spoil.value % (blocks.size() - 1);
  std::swap(blocks[place - 1], blocks[place]);
}

// ---- Who enters and who leaves --------------------------------------------------

inline void spoil_cached(Run& run, const Spoil& spoil) {
  Admission* const admission = admission_of(run, spoil);
  if (admission != nullptr) admission->cached_tokens = spoil.value;
}

/// Who was swapped was dropped, and the other way round.
inline void spoil_mode(Run& run, const Spoil& spoil) {
  Preemption* const preemption = spoil.chosen(all_of(run, &StepPlan::preempted));
  if (preemption == nullptr) return;
  const bool is_swap = preemption->mode == PreemptionMode::swap;
  preemption->mode = is_swap ? PreemptionMode::recompute : PreemptionMode::swap;
}

/// A step preempts so many of those that run in it, the last ones first.
inline void spoil_preempted(Run& run, const Spoil& spoil) {
  if (run.steps.empty()) return;
  StepPlan& plan = run.steps[spoil.place % run.steps.size()].plan;
  for (std::size_t i = 0; i < std::min<std::size_t>(spoil.value, plan.slices.size()); ++i) {
    plan.preempted.push_back({plan.slices[plan.slices.size() - 1 - i].seq});
  }
}

/// Somebody is retired some steps later.
inline void spoil_finished(Run& run, const Spoil& spoil) {
  std::vector<std::pair<std::size_t, Finish>> all;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    for (const Finish& finish : run.steps[i].plan.finished) all.emplace_back(i, finish);
  }
  if (all.empty()) return;
  const auto [step, finish] = all[spoil.place % all.size()];
  std::erase(run.steps[step].plan.finished, finish);
  const std::size_t later = step + 1 + spoil.value;
  if (later < run.steps.size()) run.steps[later].plan.finished.push_back(finish);
}

// ---- What was asked for ---------------------------------------------------------

inline void spoil_salt(Run& run, const Spoil& spoil) {
  Submission* const submission = submission_of(run, spoil);
  if (submission != nullptr) submission->request.cache_salt = CacheSalt{spoil.value};
}

/// It does without the prefix cache.
inline void spoil_use(Run& run, const Spoil& spoil) {
  Submission* const submission = submission_of(run, spoil);
  if (submission != nullptr) submission->request.prefix_cache = PrefixCacheUse::disable;
}

/// Another letter at a place of its prompt.
inline void spoil_token(Run& run, const Spoil& spoil) {
  Submission* const submission = submission_of(run, spoil);
  if (submission == nullptr) return;
  std::vector<TokenId>& prompt = submission->request.prompt;
  prompt[spoil.value % prompt.size()] = TokenId{'z'};
}

inline void spoil_priority(Run& run, const Spoil& spoil) {
  Submission* const submission = submission_of(run, spoil);
  if (submission != nullptr) submission->request.priority = static_cast<Priority>(spoil.value % 3);
}

/// It came some steps earlier.
inline void spoil_arrival(Run& run, const Spoil& spoil) {
  std::vector<std::pair<std::size_t, Submission>> all;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    for (const Submission& submission : run.steps[i].submitted) all.emplace_back(i, submission);
  }
  if (all.empty()) return;
  const std::size_t step = all[spoil.place % all.size()].first;
  const Submission submission = all[spoil.place % all.size()].second;
  std::erase_if(run.steps[step].submitted,
                [&](const Submission& each) { return each.seq == submission.seq; });
  run.steps[step - std::min<std::size_t>(step, spoil.value)].submitted.push_back(submission);
}

inline void spoil_host(Run& run, const Spoil& spoil) {
  run.config.cache.num_host_blocks = spoil.value;
}

inline void spoil_head_start(Run& run, const Spoil& spoil) {
  run.config.priority_head_start = spoil.value;
}

inline void spoil(Run& run, const Json& input) {
  using Spoiling = void (*)(Run&, const Spoil&);
  static const std::map<std::string, Spoiling> known = {{"first", spoil_first},
                                                        {"count", spoil_count},
                                                        {"drafts", spoil_drafts},
                                                        {"more_drafts", spoil_more_drafts},
                                                        {"samples", spoil_samples},
                                                        {"idle", spoil_idle},
                                                        {"block", spoil_block},
                                                        {"places", spoil_places},
                                                        {"cached", spoil_cached},
                                                        {"mode", spoil_mode},
                                                        {"preempted", spoil_preempted},
                                                        {"finished", spoil_finished},
                                                        {"salt", spoil_salt},
                                                        {"use", spoil_use},
                                                        {"token", spoil_token},
                                                        {"priority", spoil_priority},
                                                        {"arrival", spoil_arrival},
                                                        {"host", spoil_host},
                                                        {"head_start", spoil_head_start}};
  for (const auto& [name, numbers] : input.items()) {
    const auto both = numbers.get<std::vector<std::uint32_t>>();
    known.at(name)(run, {both.empty() ? 0 : both[0], both.size() < 2 ? 0 : both[1]});
  }
}

}  // namespace forge::labs::witness
