#include "forge/core/scheduler.h"

namespace forge {

std::vector<SequenceView> Scheduler::running() const {
  std::vector<SequenceView> views;
  for (const SequenceIndex index : running_) views.push_back(sequences_[index].view);
  return views;
}

std::vector<SequenceView> Scheduler::waiting() const {
  std::vector<SequenceView> views;
  for (const SequenceIndex index : queue_.in_order()) {
    views.push_back(sequences_[index].view);
    views.back().overtaken += queue_.overtaken(index);
  }
  return views;
}

std::vector<SequenceView> Scheduler::finishing() const {
  std::vector<SequenceView> views;
  for (const SequenceIndex index : finishing_) views.push_back(sequences_[index].view);
  return views;
}

tl::expected<SequenceView, UnknownSequence> Scheduler::view(SeqId seq) const {
  const auto index = index_of_.find(seq);
  if (!index) return tl::unexpected(UnknownSequence{seq});
  SequenceView view = sequences_[*index].view;
  if (view.state == SequenceState::waiting) view.overtaken += queue_.overtaken(*index);
  return view;
}

tl::expected<SaltedTokens, UnknownSequence> Scheduler::salted_tokens(SeqId seq) const {
  const auto index = index_of_.find(seq);
  if (!index) return tl::unexpected(UnknownSequence{seq});
  return sequences_[*index].salted_tokens();
}

tl::expected<FairShares::Index, UnknownSequence> Scheduler::user_of(SeqId seq) const {
  const auto index = index_of_.find(seq);
  if (!index) return tl::unexpected(UnknownSequence{seq});
  return sequences_[*index].user;
}

PrefixCacheStatistics Scheduler::prefix_cache_statistics() const {
  PrefixCacheStatistics statistics = statistics_;
  statistics.evictions = cache_.evictions();
  return statistics;
}

}  // namespace forge
