// A scheduler as a value, and back.
//
// restore() asks of each field what its own construction needs; what the parts promise each other
// is then asked of the whole, by check_invariants().
#include "forge/core/scheduler_snapshot.h"

#include <algorithm>
#include <utility>

#include "forge/core/check.h"
#include "forge/core/invariants.h"
#include "forge/core/must.h"
#include "forge/core/policy.h"
#include "forge/core/scheduler.h"

namespace forge {
namespace {

std::string name_of(const SequenceSnapshot& sequence) {
  return "sequence " + std::to_string(sequence.view.seq.value);
}

std::vector<SeqId> ids_of(const std::vector<SequenceSnapshot>& sequences) {
  std::vector<SeqId> ids;
  ids.reserve(sequences.size());
  for (const SequenceSnapshot& sequence : sequences) ids.push_back(sequence.view.seq);
  return ids;
}

std::vector<BlockId> pins_of(const std::vector<SessionSnapshot>& sessions) {
  std::vector<BlockId> pins;
  for (const SessionSnapshot& session : sessions) {
    pins.insert(pins.end(), session.pinned.begin(), session.pinned.end());
  }
  return pins;
}

/// What is wrong with how far the sequence has come; empty if nothing is.
std::string fault_of_progress(const SequenceSnapshot& told, const SchedulerConfig& config) {
  const SequenceView& view = told.view;
  const std::uint64_t most = capacity_tokens(config);
  if (view.prompt_tokens == 0 || view.max_new_tokens == 0 ||
      std::uint64_t{view.prompt_tokens} + view.max_new_tokens > most) {
    return "prompt and max_new_tokens are at least 1 and together at most " + std::to_string(most);
  }
  const bool is_finishing = view.state == SequenceState::finishing;
  const std::uint64_t output_end = std::uint64_t{view.output_tokens} + (is_finishing ? 0 : 1);
  if (output_end > view.max_new_tokens) return "output_tokens reaches max_new_tokens";
  if (view.computed_tokens > view.length() || told.charged_tokens > view.length()) {
    return "computed_tokens or charged_tokens is beyond its " + std::to_string(view.length()) +
           " tokens";
  }
  const std::uint32_t left = view.max_new_tokens - view.output_tokens;
  const bool may_draft = view.state == SequenceState::decoding && told.drafts < left;
  if (told.drafts > 0 && !may_draft && !is_finishing) {
    return std::to_string(told.drafts) + " drafts of " + std::to_string(left) + " tokens to come";
  }
  const bool runs =
      view.state == SequenceState::prefilling || view.state == SequenceState::decoding;
  if ((runs || view.computed_tokens > 0) && !told.admitted) return "it was never admitted";
  if (runs && told.decodes != (view.state == SequenceState::decoding)) {
    return "'decodes' contradicts its state";
  }
  const bool has_all = view.output_tokens > 0 && view.computed_tokens + 1 == view.length();
  if (told.decodes && !is_finishing && !has_all) {
    return "it decodes with KV of " + std::to_string(view.computed_tokens) + " tokens of " +
           std::to_string(view.length());
  }
  return "";
}

std::string fault_of(const SequenceSnapshot& told, const SchedulerConfig& config) {
  const SequenceView& view = told.view;
  if ((view.state == SequenceState::finishing) != (view.finish != FinishReason::none)) {
    return "its state and the reason of its end contradict each other";
  }
  if (!Request::kWeight.contains(told.weight)) return "weight is not in 1..1000";
  const bool has_index = config.prefix_cache != PrefixCacheKind::none;
  if ((told.uses_prefix_cache && !has_index) || (told.session && !told.uses_prefix_cache)) {
    return "it uses a prefix cache that is not there";
  }
  if (std::string fault = fault_of_progress(told, config); !fault.empty()) return fault;
  if (told.tokens.size() != (told.uses_prefix_cache ? view.length() : 0)) {
    return std::to_string(told.tokens.size()) + " tokens, of a length of " +
           std::to_string(view.length());
  }
  if (!DraftHistory::from_word(told.draft_history)) return "draft_history is none";
  return "";
}

/// The blocks that it has published hold its tokens.
std::string fault_of_published(const SequenceSnapshot& told, const PagedKVCache& cache) {
  const std::uint32_t published = cache.published(told.view.seq).value_or(0);
  const std::size_t block_size = cache.block_size();
  const std::span<const TokenId> tokens = told.tokens;
  if (published * block_size > tokens.size()) return std::to_string(published) + " are published";
  for (std::uint32_t i = 0; i < published; ++i) {
    const BlockId block = must(cache.block_table(told.view.seq))[i];
    if (!std::ranges::equal(cache.index()->tokens(block),
                            tokens.subspan(i * block_size, block_size))) {
      return "block " + std::to_string(block.value) +
             ", which it has published, holds other tokens";
    }
  }
  return "";
}

}  // namespace

SchedulerSnapshot Scheduler::snapshot() const {
  FORGE_CHECK(!in_flight_, "step ", plan_.step.value, " is in flight");
  SchedulerSnapshot snapshot{.next_step = StepId{next_step_}, .next_seq = SeqId{next_seq_}};
  for (const SequenceIndex index : in_order_of_ids()) {
    snapshot.sequences.push_back(snapshot_of(index));
  }
  for (const SequenceIndex index : running_) {
    snapshot.running.push_back(sequences_[index].view.seq);
  }
  for (const SequenceIndex index : finishing_) {
    snapshot.finishing.push_back(sequences_[index].view.seq);
  }
  const std::vector<SeqId> ids = ids_of(snapshot.sequences);
  snapshot.cache = cache_.snapshot(ids);
  snapshot.host = host_.snapshot(ids);
  snapshot.shares = shares().snapshot();
  for (const auto& [id, session] : sessions_.all()) {
    const StepId idle_since = session.active > 0 ? StepId{} : session.idle_since;
    snapshot.sessions.push_back({id, idle_since, session.pinned});
  }
  return snapshot;
}

SequenceSnapshot Scheduler::snapshot_of(SequenceIndex index) const {
  const Sequence& sequence = sequences_[index];
  SequenceSnapshot told{.view = sequence.view,
                        .client = shares().client_of(sequence.user),
                        .user = shares().id_of(sequence.user),
                        .weight = sequence.weight,
                        .charged_tokens = sequence.charged_tokens,
                        .uses_prefix_cache = sequence.uses_prefix_cache,
                        .cache_salt = sequence.cache_salt,
                        .session = sequence.session,
                        .deadline = deadlines_.deadline(index),
                        .admitted = sequence.admitted,
                        .decodes = sequence.decodes,
                        .drafts = sequence.drafts,
                        .draft_history = sequence.draft_history.word(),
                        .target_length = sequence.table.target_length,
                        .target_agrees = sequence.table.agrees,
                        .tokens = sequence.tokens};
  told.view.overtaken = 0;
  return told;
}

/// All unfinished sequences.
std::vector<Scheduler::SequenceIndex> Scheduler::in_order_of_ids() const {
  std::vector<SequenceIndex> all = queue_.in_order();
  for (const SequenceIndex index : running_) all.push_back(index);
  for (const SequenceIndex index : finishing_) {
    if (std::ranges::find(running_, index) == running_.end()) all.push_back(index);
  }
  std::ranges::sort(all, {}, [&](SequenceIndex index) { return sequences_[index].view.seq; });
  return all;
}

tl::expected<Scheduler, std::string> Scheduler::restore(const SchedulerConfig& config,
                                                        const SchedulerSnapshot& snapshot) {
  Scheduler scheduler(config);
  if (std::string fault = scheduler.restore(snapshot); !fault.empty()) {
    return tl::unexpected(std::move(fault));
  }
  if (auto violation = check_invariants(scheduler)) return tl::unexpected(*std::move(violation));
  return scheduler;
}

/// Returns what is wrong; nothing if nothing is.
std::string Scheduler::restore(const SchedulerSnapshot& snapshot) {
  next_step_ = snapshot.next_step.value;
  next_seq_ = snapshot.next_seq.value;
  if (auto done = cache_.restore(snapshot.cache, pins_of(snapshot.sessions)); !done) {
    return "cache: " + done.error();
  }
  if (auto done = host_.restore(snapshot.host, {}); !done) return "host: " + done.error();
  if (std::string fault = restore_sequences(snapshot); !fault.empty()) return fault;
  if (std::string fault = restore_orders(snapshot); !fault.empty()) return fault;
  queue_.shares().restore(snapshot.shares);
  return restore_sessions(snapshot.sessions);
}

std::string Scheduler::restore_sequences(const SchedulerSnapshot& snapshot) {
  SeqId last;
  for (const SequenceSnapshot& told : snapshot.sequences) {
    const SeqId seq = told.view.seq;
    if (seq <= last || seq >= snapshot.next_seq) {
      return name_of(told) + " stands after " + std::to_string(last.value) + "; ids ascend to " +
             std::to_string(snapshot.next_seq.value) + ", without it";
    }
    last = seq;
    if (std::string fault = fault_of(told, config_); !fault.empty()) {
      return name_of(told) + ": " + fault;
    }
    const auto table = cache_.block_table(seq);
    const std::size_t length = table ? table->size() : 0;
    if (std::string fault = fault_of_published(told, cache_); !fault.empty()) {
      return name_of(told) + ": " + fault;
    }
    if (told.target_agrees > std::min<std::size_t>(length, told.target_length)) {
      return name_of(told) + ": the target agrees on " + std::to_string(told.target_agrees) +
             " blocks of " + std::to_string(length);
    }
    const auto index = static_cast<SequenceIndex>(sequences_.size());
    sequences_.push_back({.view = told.view,
                          .uses_prefix_cache = told.uses_prefix_cache,
                          .cache_salt = told.cache_salt,
                          .user = queue_.shares().enter(told.client, told.user),
                          .weight = told.weight,
                          .charged_tokens = told.charged_tokens,
                          .admitted = told.admitted,
                          .decodes = told.decodes,
                          .drafts = told.drafts,
                          .draft_history = *DraftHistory::from_word(told.draft_history),
                          .table = {.length = static_cast<std::uint32_t>(length),
                                    .target_length = told.target_length,
                                    .agrees = told.target_agrees},
                          .memo = {.blocks = cache_.blocks_for(told.view.length())},
                          .session = told.session,
                          .tokens = told.tokens});
    index_of_.insert(seq, index);
    if (told.view.state == SequenceState::waiting) wait(index);
    if (told.view.state == SequenceState::decoding) ++decoding_count_;
    if (told.deadline) deadlines_.push(index, seq, *told.deadline);
    if (told.session) sessions_.begin_request(*told.session);
  }
  free_sequences_.reserve(sequences_.capacity());
  finishing_.reserve(sequences_.capacity());
  return "";
}

/// Who runs, and who has ended. Whoever is in neither list waits.
std::string Scheduler::restore_orders(const SchedulerSnapshot& snapshot) {
  if (snapshot.running.size() > config_.batch.max_batch_size) {
    return "running: more than " + std::to_string(config_.batch.max_batch_size);
  }
  std::vector<bool> runs(sequences_.size());
  std::vector<bool> ends(sequences_.size());
  const auto read = [&](const std::vector<SeqId>& ids, std::vector<SequenceIndex>& list,
                        std::vector<bool>& is_in_list) {
    for (const SeqId seq : ids) {
      const auto index = index_of_.find(seq);
      if (!index || is_in_list[*index]) {
        return "sequence " + std::to_string(seq.value) + " is not there, or is there twice";
      }
      is_in_list[*index] = true;
      list.push_back(*index);
    }
    return std::string();
  };
  if (std::string fault = read(snapshot.running, running_, runs); !fault.empty()) {
    return "running: " + fault;
  }
  if (std::string fault = read(snapshot.finishing, finishing_, ends); !fault.empty()) {
    return "finishing: " + fault;
  }
  for (SequenceIndex index = 0; index < sequences_.size(); ++index) {
    if (!has_its_place(sequences_[index].view, runs[index], ends[index])) {
      return "sequence " + std::to_string(sequences_[index].view.seq.value) +
             ": its state, its table and the lists of those that run and end contradict each other";
    }
  }
  return "";
}

bool Scheduler::has_its_place(const SequenceView& view, bool runs, bool ends) const {
  const bool has_table = cache_.contains(view.seq);
  const std::uint32_t slots = has_table ? must(cache_.tokens(view.seq)) : 0;
  switch (view.state) {
    case SequenceState::waiting:
      return !runs && !ends && !has_table;
    case SequenceState::prefilling:
      return runs && !ends && has_table && slots == view.length();
    case SequenceState::decoding:
      return runs && !ends && has_table && slots == view.computed_tokens;
    case SequenceState::finishing:
      break;
  }
  return ends && runs == has_table;
}

/// Their requests have begun.
std::string Scheduler::restore_sessions(const std::vector<SessionSnapshot>& sessions) {
  std::optional<SessionId> last;
  for (const SessionSnapshot& told : sessions) {
    if (cache_.index() == nullptr || (last && told.session <= *last)) {
      return "session " + std::to_string(told.session.value) +
             " is out of order, or there is no prefix cache";
    }
    last = told.session;
    if (!sessions_.contains(told.session)) {
      if (told.idle_since.value >= next_step_) {
        return "session " + std::to_string(told.session.value) + " is idle since step " +
               std::to_string(told.idle_since.value) + ", which is to come";
      }
      sessions_.begin_request(told.session);
      sessions_.end_request(told.session, told.idle_since);
    }
    sessions_.exchange_pins(told.session, told.pinned);
  }
  return sessions_.all().size() == sessions.size() ? "" : "sessions: some are missing";
}

}  // namespace forge
