#include "forge/trace/trace_state.h"

#include <algorithm>
#include <tuple>

#include "forge/core/policy.h"

namespace forge::trace {
namespace {

std::string name_of(SeqId seq) { return "sequence " + std::to_string(seq.value); }

tl::unexpected<std::string> contradiction(SeqId seq, const std::string& why) {
  return tl::unexpected(name_of(seq) + " " + why);
}

AdmissionKey key_of(const TracedSequence& sequence, const SchedulerConfig& config) {
  return admission_key({.seq = sequence.seq,
                        .priority = sequence.priority,
                        .prompt_tokens = sequence.prompt_tokens,
                        .output_tokens = sequence.output_tokens,
                        .max_new_tokens = sequence.max_new_tokens},
                       config);
}

}  // namespace

tl::expected<void, std::string> TraceState::apply(const TraceEvent& event) {
  Applied done = std::visit([&](const auto& e) { return follow(e); }, event);
  has_begun_ = true;
  return done;
}

TracedSequence* TraceState::lookup(SeqId seq) {
  const auto found = sequences_.find(seq);
  return found == sequences_.end() ? nullptr : &found->second;
}

const TracedSequence* TraceState::find(SeqId seq) const {
  const auto found = sequences_.find(seq);
  return found == sequences_.end() ? nullptr : &found->second;
}

Candidate TraceState::candidate(const TracedSequence& sequence) const {
  return {.resumes = sequence.has_begun,
          .client = shares_.share_of_client(sequence.share),
          .user = shares_.share_of_user(sequence.share),
          .key = key_of(sequence, config_)};
}

std::vector<TracedCandidate> TraceState::candidates() const {
  std::map<FairShares::Index, const TracedSequence*> first_of;
  for (const auto& [seq, sequence] : sequences_) {
    if (!sequence.is_queued) continue;
    const auto [first, is_new] = first_of.emplace(sequence.share, &sequence);
    const bool goes_before = key_of(sequence, config_) < key_of(*first->second, config_);
    if (!is_new && goes_before) first->second = &sequence;
  }
  std::vector<TracedCandidate> candidates;
  candidates.reserve(first_of.size());
  for (const auto& [user, first] : first_of) {
    candidates.push_back({first->client, first->user, candidate(*first)});
  }
  std::ranges::sort(candidates, has_turn_before, &TracedCandidate::standing);
  return candidates;
}

std::vector<const TracedSequence*> TraceState::queue() const {
  using Line = std::vector<const TracedSequence*>;
  std::map<FairShares::Index, Line> by_user;
  for (const auto& [seq, sequence] : sequences_) {
    if (sequence.place != Place::running) by_user[sequence.share].push_back(&sequence);
  }
  std::vector<std::pair<Candidate, Line>> lines;
  for (auto& [user, line] : by_user) {
    std::ranges::sort(line, {}, [&](const auto* waits) { return key_of(*waits, config_); });
    const auto first = std::ranges::find_if(line, &TracedSequence::is_queued);
    lines.emplace_back(candidate(first == line.end() ? *line.front() : **first), std::move(line));
  }
  std::ranges::sort(lines, has_turn_before, &std::pair<Candidate, Line>::first);
  Line waiting;
  for (const auto& [first, line] : lines) {
    waiting.insert(waiting.end(), line.begin(), line.end());
  }
  return waiting;
}

std::vector<const TracedSequence*> TraceState::batch() const {
  std::vector<const TracedSequence*> running;
  for (const auto& [seq, sequence] : sequences_) {
    if (sequence.place == Place::running) running.push_back(&sequence);
  }
  std::sort(running.begin(), running.end(), [](const auto* a, const auto* b) {
    return std::tie(a->entry, a->seq) < std::tie(b->entry, b->seq);
  });
  return running;
}

TraceState::Applied TraceState::follow(const SubmitEvent& event) {
  const Request& request = event.request;
  const TracedSequence sequence{.seq = event.seq,
                                .priority = request.priority,
                                .client = request.client,
                                .user = request.user,
                                .weight = request.weight,
                                .prompt_tokens = static_cast<std::uint32_t>(request.prompt.size()),
                                .max_new_tokens = request.max_new_tokens,
                                .submitted = next_step_,
                                .deadline_steps = request.deadline_steps,
                                .session = request.session};
  const auto [placed, is_new] = sequences_.emplace(event.seq, sequence);
  if (!is_new) return contradiction(event.seq, "is submitted twice");
  placed->second.share = shares_.enter(request.client, request.user);
  begin_waiting(placed->second);
  ++waiting_count_;
  return {};
}

TraceState::Applied TraceState::follow(const CancelEvent& event) {
  TracedSequence* const sequence = lookup(event.seq);
  if (sequence == nullptr) return contradiction(event.seq, "is cancelled but not known");
  sequence->ends = true;
  stop_waiting(*sequence);
  return {};
}

void TraceState::begin_waiting(TracedSequence& sequence) {
  sequence.is_queued = true;
  shares_.begin_waiting(sequence.share);
}

void TraceState::stop_waiting(TracedSequence& sequence) {
  if (sequence.is_queued) shares_.end_waiting(sequence.share);
  sequence.is_queued = false;
}

TraceState::Applied TraceState::apply(const StepEvent& event, const BeforeTurn& before_turn) {
  if (event.plan.step != next_step_) {
    return tl::unexpected("step " + std::to_string(event.plan.step.value) + " stands where step " +
                          std::to_string(next_step_.value) + " was to come");
  }
  Applied done = follow_plan(event.plan, before_turn);
  if (done) done = follow_result(event.plan, event.result);
  if (done) done = cached_.apply(event.cache);
  if (done) ++next_step_.value;
  has_begun_ = true;
  return done;
}

TraceState::Applied TraceState::follow_plan(const StepPlan& plan, const BeforeTurn& before_turn) {
  for (const Finish& finished : plan.finished) {
    if (auto done = finish(finished); !done) return done;
  }
  if (auto done = preempt(plan); !done) return done;
  if (auto done = enter(plan.admitted, false); !done) return done;
  if (auto done = enter(plan.resumed, true); !done) return done;
  // Two lists say who has entered; the slices say in which order.
  for (const Slice& slice : plan.prefill_batch()) {
    TracedSequence* const sequence = lookup(slice.seq);
    if (sequence != nullptr && sequence->entry == 0) sequence->entry = ++entries_;
  }
  count_turns(plan, before_turn);
  return blocks_.apply(plan);
}

TraceState::Applied TraceState::finish(const Finish& finish) {
  TracedSequence* const sequence = lookup(finish.seq);
  if (sequence == nullptr) return contradiction(finish.seq, "is finished but not known");
  stop_waiting(*sequence);
  shares_.leave(sequence->share);
  drop_host_blocks(*sequence);
  --count(sequence->place);
  sequences_.erase(finish.seq);
  return {};
}

/// Whoever enters stops waiting just before its first slice runs: what runs before still counts as
/// run while it waited.
void TraceState::count_turns(const StepPlan& plan, const BeforeTurn& before_turn) {
  for (const Slice& slice : plan.slices) {
    TracedSequence* const sequence = lookup(slice.seq);
    if (sequence == nullptr || sequence->place != Place::running) continue;
    if (sequence->is_queued && before_turn) before_turn(slice.seq);
    if (sequence->is_queued) take_turn(*sequence, slice.first);
    const std::uint32_t end = slice.first + slice.count - std::min(slice.drafts, slice.count);
    if (end <= sequence->charged_tokens) continue;
    shares_.charge(sequence->share, end - sequence->charged_tokens, sequence->weight);
    sequence->charged_tokens = end;
  }
  for (const auto* entered : {&plan.admitted, &plan.resumed}) {  // without a slice, in an odd trace
    for (const Admission& admission : *entered) {
      TracedSequence* const sequence = lookup(admission.seq);
      if (sequence != nullptr && sequence->is_queued) take_turn(*sequence, 0);
    }
  }
}

void TraceState::take_turn(TracedSequence& sequence, std::uint32_t cached_tokens) {
  stop_waiting(sequence);
  if (sequence.has_begun) return;
  sequence.has_begun = true;
  sequence.charged_tokens = cached_tokens;
  shares_.take_turn(sequence.share);
}

/// The copies of the swapped ones follow each other in the order of `preempted`.
TraceState::Applied TraceState::preempt(const StepPlan& plan) {
  std::uint64_t copies = 0;
  for (const BlockCopy& copy : plan.copies) copies += copy.kind == CopyKind::swap_out ? 1 : 0;
  for (const Preemption& preemption : plan.preempted) {
    TracedSequence* const sequence = lookup(preemption.seq);
    if (sequence == nullptr || sequence->place != Place::running) {
      return contradiction(preemption.seq, "is preempted but does not run");
    }
    ++sequence->preemptions;
    if (preemption.mode == PreemptionMode::recompute) {
      sequence->computed_tokens = 0;
      move(*sequence, Place::waiting);
      begin_waiting(*sequence);
      continue;
    }
    const std::uint32_t full = sequence->computed_tokens / config_.cache.block_size;
    const std::uint32_t blocks =
        full + (sequence->computed_tokens % config_.cache.block_size > 0 ? 1 : 0);
    if (blocks > copies) {
      return contradiction(preemption.seq, "is swapped with " + std::to_string(copies) +
                                               " copies left for its " + std::to_string(blocks) +
                                               " blocks");
    }
    copies -= blocks;
    sequence->host_blocks = blocks;
    host_blocks_ += blocks;
    move(*sequence, Place::swapped);
    begin_waiting(*sequence);
  }
  return {};
}

TraceState::Applied TraceState::enter(const std::vector<Admission>& admissions, bool resumed) {
  for (const Admission& admission : admissions) {
    TracedSequence* const sequence = lookup(admission.seq);
    if (sequence == nullptr || sequence->place == Place::running) {
      return contradiction(admission.seq, resumed ? "is resumed but does not wait"
                                                  : "is admitted but does not wait");
    }
    drop_host_blocks(*sequence);
    sequence->computed_tokens = admission.cached_tokens;
    sequence->entry = 0;
    move(*sequence, Place::running);
  }
  return {};
}

TraceState::Applied TraceState::follow_result(const StepPlan& plan, const StepResult& result) {
  if (result.slices.size() != plan.slices.size()) {
    return tl::unexpected(std::to_string(plan.slices.size()) + " slices have " +
                          std::to_string(result.slices.size()) + " answers");
  }
  if (result.kv_lost) {
    if (!result.tokens.empty())
      return tl::unexpected(std::string("tokens of a step that was lost"));
    lose_kv();
    return {};
  }
  bool all_failed = true;
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    if (auto done = answer(plan.slices[i], result.slices[i]); !done) return done;
    all_failed = all_failed && result.slices[i].signal == FinishSignal::error;
  }
  if (all_failed) forget_failed_swaps(plan);
  return {};
}

TraceState::Applied TraceState::answer(const Slice& slice, const SliceResult& answer) {
  TracedSequence* const sequence = lookup(slice.seq);
  if (sequence == nullptr || sequence->place != Place::running) {
    return contradiction(slice.seq, "has a slice but does not run");
  }
  if (answer.seq != slice.seq) {
    return contradiction(slice.seq, "is answered by one of " + name_of(answer.seq));
  }
  if (has_failed(answer.signal)) {
    sequence->ends = true;
    return {};
  }
  const bool fits = slice.samples ? slice.drafts < slice.count && answer.token_count >= 1 &&
                                        answer.token_count <= slice.drafts + std::uint64_t{1}
                                  : slice.drafts == 0 && answer.token_count == 0;
  if (!fits) {
    return contradiction(slice.seq, "gets " + std::to_string(answer.token_count) +
                                        " tokens for a slice of " + std::to_string(slice.count) +
                                        " with " + std::to_string(slice.drafts) + " drafts");
  }
  // Of drafts, the accepted ones have valid KV; the last token of an answer never does.
  sequence->computed_tokens = slice.first + slice.count - slice.drafts;
  if (slice.samples) sequence->computed_tokens += answer.token_count - 1;
  sequence->most_computed_tokens =
      std::max(sequence->most_computed_tokens, sequence->computed_tokens);
  sequence->output_tokens += answer.token_count;
  sequence->ends = sequence->ends || answer.signal == FinishSignal::eos ||
                   sequence->output_tokens >= sequence->max_new_tokens;
  return {};
}

/// A step that failed as a whole copied nothing to the host.
void TraceState::forget_failed_swaps(const StepPlan& plan) {
  for (const Preemption& preemption : plan.preempted) {
    TracedSequence* const sequence = lookup(preemption.seq);
    if (sequence == nullptr || sequence->place != Place::swapped) continue;
    drop_host_blocks(*sequence);
    sequence->computed_tokens = 0;
    move(*sequence, Place::waiting);
  }
}

/// Who has ended is retired by the next plan, as ever.
void TraceState::lose_kv() {
  for (const TracedSequence* running : batch()) {
    TracedSequence& sequence = *lookup(running->seq);
    if (sequence.ends) continue;
    move(sequence, Place::waiting);
    begin_waiting(sequence);
  }
  for (auto& [seq, sequence] : sequences_) {
    blocks_.drop(seq);
    drop_host_blocks(sequence);
    sequence.computed_tokens = 0;
    if (sequence.place == Place::swapped) move(sequence, Place::waiting);
  }
}

void TraceState::move(TracedSequence& sequence, Place place) {
  --count(sequence.place);
  sequence.place = place;
  ++count(place);
}

std::size_t& TraceState::count(Place place) {
  switch (place) {
    case Place::waiting:
      return waiting_count_;
    case Place::swapped:
      return swapped_count_;
    case Place::running:
      break;
  }
  return running_count_;
}

void TraceState::drop_host_blocks(TracedSequence& sequence) {
  host_blocks_ -= sequence.host_blocks;
  sequence.host_blocks = 0;
}

}  // namespace forge::trace
