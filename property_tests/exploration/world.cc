#include "world.h"

#include <algorithm>

#include "forge/core/digest.h"
#include "forge/core/invariants.h"
#include "forge/core/must.h"

namespace forge::testing {
namespace {

/// All tokens generated are the same one, so equal prompts have equal continuations.
constexpr TokenId kGenerated{1};

std::string name(SeqId seq) { return "sequence " + std::to_string(seq.value); }

}  // namespace

World::World(const Instance& instance)
    : instance_(&instance),
      scheduler_(instance.config),
      target_(instance.config),
      items_(instance.menu.size()) {
  for (const Request& request : instance.menu) must(validate(request, instance.config));
  for (std::uint32_t i = 1; i < items_.size(); ++i) {
    if (!same_user(0, i) && !shares_) shares_.emplace();
  }
}

std::vector<Event> World::events() const {
  std::vector<Event> events;
  if (scheduler_.in_flight()) {
    // Every combination of answers, counted like the digits of a number; the plain ones first.
    events.push_back({.kind = EventKind::commit});
    for (const Slice& slice : scheduler_.plan().slices) {
      const std::vector<Event> before = std::exchange(events, {});
      for (const Answer& answer : answers_to(slice)) {
        for (const Event& event : before) {
          events.push_back(event);
          events.back().answers.push_back(answer);
        }
      }
    }
  } else {
    events.push_back({.kind = EventKind::schedule});
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      events.push_back({.kind = EventKind::submit, .item = i});
    }
    events.push_back({.kind = EventKind::clear});
  }
  events.push_back({.kind = EventKind::lose});
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    events.push_back({.kind = EventKind::cancel, .item = i});
  }
  for (const auto& [id, session] : scheduler_.sessions().all()) {
    events.push_back({.kind = EventKind::release, .item = static_cast<std::uint32_t>(id.value)});
  }
  std::erase_if(events, [&](const Event& event) { return !can(event); });
  return events;
}

bool World::can(const Event& event) const {
  switch (event.kind) {
    case EventKind::submit:
      return items_[event.item].seq == SeqId{};
    case EventKind::cancel: {
      if (!instance_->cancels || !is_live(event.item)) return false;
      return scheduler_.view(items_[event.item].seq)->state != SequenceState::finishing;
    }
    case EventKind::release: {
      const auto& sessions = scheduler_.sessions().all();
      const auto session = sessions.find(SessionId{event.item});
      // Nothing happens if it is only about to have something.
      return session != sessions.end() &&
             (session->second.active == 0 || !session->second.pinned.empty());
    }
    case EventKind::clear:
      return instance_->clears && !cleared_;
    case EventKind::schedule:
      return !scheduler_.in_flight();
    case EventKind::commit:
      return scheduler_.in_flight();
    case EventKind::lose:
      return scheduler_.in_flight() && instance_->loses && !lost_;
  }
  return false;
}

std::vector<Answer> World::answers_to(const Slice& slice) const {
  const std::uint32_t item = item_of(slice.seq);
  std::vector<Answer> answers;
  if (slice.samples) {
    const SequenceView view = *scheduler_.view(slice.seq);
    for (std::uint32_t tokens = 1; tokens <= slice.drafts + 1; ++tokens) {
      const std::uint32_t left = view.max_new_tokens - view.output_tokens - tokens;
      for (std::uint32_t drafts = 0; drafts == 0 || drafts <= instance_->max_drafts; ++drafts) {
        if (drafts > 0 && drafts >= left) break;
        answers.push_back({item, FinishSignal::none, tokens, drafts});
      }
      answers.push_back({item, FinishSignal::eos, tokens, 0});
    }
  } else {
    answers.push_back({item});
  }
  if (instance_->errors) answers.push_back({item, FinishSignal::error});
  if (instance_->errors && slice.samples) answers.push_back({item, FinishSignal::not_finite});
  return answers;
}

std::optional<std::string> World::apply(const Event& event) {
  try {
    if (auto violation = apply_unchecked(event)) return violation;
    if (auto violation = check_invariants(scheduler_)) return violation;
    if (event.kind == EventKind::commit || event.kind == EventKind::lose) {
      if (auto wrong = cached_.follow(scheduler_)) return "cache delta: " + *wrong;
    }
    return check_at_rest();
  } catch (const CheckFailed& failure) {
    return failure.what();
  }
}

std::optional<std::string> World::apply_unchecked(const Event& event) {
  Item& item = items_[event.kind == EventKind::release ? 0 : event.item];
  switch (event.kind) {
    case EventKind::submit:
      item = {.seq = scheduler_.submit(instance_->menu[event.item]).value(), .waits = true};
      target_.begin(item.seq, instance_->menu[event.item]);
      if (shares_) shares_->submit(item.seq, instance_->menu[event.item]);
      return std::nullopt;
    case EventKind::cancel:
      scheduler_.cancel(item.seq);
      if (shares_) shares_->cancel(item.seq);
      return std::nullopt;
    case EventKind::release:
      scheduler_.release_session(SessionId{event.item});
      return std::nullopt;
    case EventKind::clear:
      scheduler_.clear_prefix_cache();
      cleared_ = true;
      return std::nullopt;
    case EventKind::schedule:
      return schedule();
    case EventKind::commit:
    case EventKind::lose:
      return commit(event);
  }
  return std::nullopt;
}

std::optional<std::string> World::schedule() {
  const StepPlan& plan = scheduler_.schedule();
  if (plan.slices.empty() && scheduler_.has_work()) return "idle plan: there is work";
  for (const Finish& finish : plan.finished) items_[item_of(finish.seq)].waits = false;
  for (const Preemption& preemption : plan.preempted) {
    items_[item_of(preemption.seq)].waits = true;
  }
  for (const Slice& slice : plan.slices) {  // those admitted, in their order
    const std::uint32_t item = item_of(slice.seq);
    if (!items_[item].waits) continue;
    const bool first_time =
        std::ranges::find(plan.admitted, slice.seq, &Admission::seq) != plan.admitted.end();
    if (auto violation = admit(item, first_time)) return violation;
  }
  if (shares_) {
    if (auto violation = shares_->follow(plan)) return violation;
  }
  if (!plan.preempted.empty() && ++preempting_steps_ > tokens_ + (lost_ ? 1 : 0)) {
    return "preemption: " + std::to_string(preempting_steps_) + " steps preempted, " +
           std::to_string(tokens_) + " tokens were generated";
  }
  return std::nullopt;
}

std::optional<std::string> World::admit(std::uint32_t item, bool first_time) {
  items_[item].waits = false;
  items_[item].has_begun = true;
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    Item& other = items_[i];
    if (!other.waits) continue;
    const bool goes_before =
        same_user(i, item) ? key(i) < key(item) : first_time && other.has_begun && is_first(i);
    if (goes_before) {
      return "order: " + name(items_[item].seq) + " was admitted before " + name(other.seq);
    }
    if (!same_user(i, item)) continue;
    if (!first_time || other.seq > items_[item].seq) continue;
    if (++other.overtaken <= overtakers_max(instance_->menu[i].priority, instance_->config))
      continue;
    return "overtaking: " + name(other.seq) + " was overtaken " + std::to_string(other.overtaken) +
           " times, now by " + name(items_[item].seq);
  }
  return std::nullopt;
}

bool World::same_user(std::uint32_t a, std::uint32_t b) const {
  const Request& one = instance_->menu[a];
  const Request& other = instance_->menu[b];
  return one.client == other.client && one.user == other.user;
}

/// Of those of its user that wait.
bool World::is_first(std::uint32_t item) const {
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    if (items_[i].waits && same_user(i, item) && key(i) < key(item)) return false;
  }
  return true;
}

AdmissionKey World::key(std::uint32_t item) const {
  return admission_key(scheduler_.view(items_[item].seq).value(), instance_->config);
}

StepResult World::result_for(const Event& event) const {
  const StepPlan& plan = scheduler_.plan();
  StepResult result;
  if (event.kind == EventKind::lose) {
    lose_step(plan, result);
    return result;
  }
  result.step = plan.step;
  for (const Slice& slice : plan.slices) {
    const std::uint32_t item = item_of(slice.seq);
    const auto found = std::ranges::find(event.answers, item, &Answer::item);
    Answer answer = found != event.answers.end() ? *found : Answer{item};
    const bool fails = has_failed(answer.signal);
    const std::uint32_t most = fails || !slice.samples ? 0 : slice.drafts + 1;
    answer.tokens = std::clamp(answer.tokens, std::min(most, 1U), most);
    if (!slice.samples && !fails) answer = {item};
    result.slices.push_back({.seq = slice.seq,
                             .first_token = static_cast<std::uint32_t>(result.tokens.size()),
                             .token_count = answer.tokens,
                             .signal = answer.signal,
                             .drafts = answer.drafts});
    result.tokens.resize(result.tokens.size() + answer.tokens, kGenerated);
  }
  return result;
}

std::optional<std::string> World::commit(const Event& event) {
  const StepPlan& plan = scheduler_.plan();
  const StepResult result = result_for(event);
  if (const auto wrong = target_.execute(plan, result)) return "provenance: " + *wrong;
  if (!result.kv_lost) {
    if (auto violation = compare_tables()) return violation;
  }
  scheduler_.commit(plan, result);
  tokens_ += result.tokens.size();
  return result.kv_lost ? lose_kv() : std::nullopt;
}

std::optional<std::string> World::compare_tables() const {
  for (const Slice& slice : scheduler_.plan().slices) {
    const auto table = scheduler_.cache().block_table(slice.seq);
    if (!table || !std::ranges::equal(*table, target_.table(slice.seq))) {
      return "target: " + name(slice.seq) + " has another table there";
    }
  }
  return std::nullopt;
}

std::optional<std::string> World::lose_kv() {
  lost_ = true;
  if (shares_) shares_->lose_kv();
  for (const SequenceView& view : scheduler_.waiting()) items_[item_of(view.seq)].waits = true;
  if (scheduler_.cache().pool().used_count() > 0) return "leftovers: blocks of a lost target";
  if (scheduler_.host().pool().used_count() > 0) return "leftovers: host blocks of a lost target";
  return std::nullopt;
}

std::optional<std::string> World::check_at_rest() const {
  if (scheduler_.has_work()) return std::nullopt;
  if (scheduler_.cache().sequence_count() > 0) return "leftovers: a block table";
  if (scheduler_.host().pool().used_count() > 0) return "leftovers: host blocks";
  return std::nullopt;
}

std::uint32_t World::item_of(SeqId seq) const {
  const auto item = std::ranges::find(items_, seq, &Item::seq);
  return static_cast<std::uint32_t>(item - items_.begin());
}

bool World::is_live(std::uint32_t item) const {
  return items_[item].seq != SeqId{} && scheduler_.view(items_[item].seq).has_value();
}

std::uint64_t World::digest() const {
  Digest d;
  d.add(scheduler_.state_digest()).add(cleared_).add(lost_);
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    // What a sequence was is forgotten once it has retired.
    const bool submitted = items_[i].seq != SeqId{};
    d.add(submitted);
    if (submitted && is_live(i)) d.add(items_[i].seq).add(items_[i].overtaken);
  }
  if (shares_) shares_->add_to(d);
  return d.value();
}

std::string to_string(const Event& event) {
  const std::string item = std::to_string(event.item);
  switch (event.kind) {
    case EventKind::submit:
      return "submit request " + item;
    case EventKind::cancel:
      return "cancel request " + item;
    case EventKind::release:
      return "release session " + item;
    case EventKind::clear:
      return "clear the prefix cache";
    case EventKind::schedule:
      return "schedule";
    case EventKind::lose:
      return "commit: all KV is lost";
    case EventKind::commit:
      break;
  }
  std::string text = "commit";
  for (const Answer& answer : event.answers) {
    text += (&answer == event.answers.data() ? ": request " : ", request ") +
            std::to_string(answer.item);
    if (has_failed(answer.signal)) {
      text += answer.signal == FinishSignal::error ? " fails" : " has no finite logits";
      continue;
    }
    text += " +" + std::to_string(answer.tokens) + (answer.tokens == 1 ? " token" : " tokens");
    if (answer.signal == FinishSignal::eos) text += " and ends";
    if (answer.drafts > 0) text += " and wants " + std::to_string(answer.drafts) + " drafts";
  }
  return text;
}

}  // namespace forge::testing
