// Scheduler::state_digest(): all that future plans depend on, and nothing else. Left out are
// counters for people (preemptions, overtaken, statistics) and where things lie in memory.
#include "forge/core/digest.h"
#include "forge/core/must.h"
#include "forge/core/scheduler.h"

namespace forge {
namespace {

template <class Range>
void add_list(Digest& d, const Range& list) {
  d.add(list.size());
  for (const auto& item : list) d.add(item);
}

void add_cache(Digest& d, const PagedKVCache& cache) {
  add_list(d, cache.pool().free_list());
  const PrefixIndex* index = cache.index();
  if (index == nullptr) return;
  add_list(d, index->unused());
  for (const BlockId block : index->blocks()) {
    const auto parent = index->parent(block);
    d.add(block).add(parent ? parent->value + std::uint64_t{1} : 0).add(index->salt(block));
    add_list(d, index->tokens(block));
  }
}

void add_table(Digest& d, const PagedKVCache& cache, SeqId seq) {
  if (!cache.contains(seq)) {
    d.add(0);
    return;
  }
  add_list(d, must(cache.block_table(seq)));
  d.add(must(cache.tokens(seq))).add(must(cache.published(seq))).add(must(cache.publishes(seq)));
}

}  // namespace

std::uint64_t Scheduler::state_digest() const {
  Digest d;
  d.add(next_seq_).add(in_flight_);
  if (in_flight_) {
    StepPlan plan = plan_;
    plan.step = {};
    d.add(digest(plan));
  }
  add_cache(d, cache_);
  add_cache(d, host_);
  const auto add_sequence = [&](SequenceIndex index) {
    const Sequence& sequence = sequences_[index];
    const SequenceView& view = sequence.view;
    d.add(view.seq).add(static_cast<std::uint64_t>(view.state));
    d.add(static_cast<std::uint64_t>(view.finish)).add(static_cast<std::uint64_t>(view.priority));
    d.add(view.prompt_tokens).add(view.output_tokens).add(view.max_new_tokens);
    d.add(view.computed_tokens)
        .add(sequence.uses_prefix_cache)
        .add(sequence.admitted)
        .add(sequence.decodes);
    d.add(sequence.drafts)
        .add(sequence.draft_history.word())
        .add(sequence.table.target_length)
        .add(sequence.table.agrees);
    const auto deadline = deadlines_.deadline(index);
    d.add(deadline ? deadline->value - next_step_ + 1 : 0);
    d.add(sequence.session.has_value()).add(sequence.session.value_or(SessionId{}));
    d.add(sequence.cache_salt).add(sequence.weight).add(sequence.charged_tokens);
    add_list(d, sequence.tokens);
    add_table(d, cache_, view.seq);
    add_table(d, host_, view.seq);
  };
  shares().add_to(d);
  d.add(running_.size());
  for (const SequenceIndex index : running_) add_sequence(index);
  d.add(finishing_.size());
  for (const SequenceIndex index : finishing_) add_sequence(index);
  d.add(queue_.size());
  for (const SequenceIndex index : queue_.in_order()) add_sequence(index);
  for (const auto& [id, session] : sessions_.all()) {
    d.add(id).add(session.active);
    d.add(session.active > 0 ? 0 : next_step_ - session.idle_since.value);
    add_list(d, session.pinned);
  }
  return d.value();
}

}  // namespace forge
