#include "forge/core/scheduler.h"

namespace forge {

std::vector<SequenceView> Scheduler::running() const {
  std::vector<SequenceView> views;
  for (const RowIndex index : running_) views.push_back(rows_[index].view);
  return views;
}

std::vector<SequenceView> Scheduler::waiting() const {
  std::vector<SequenceView> views;
  for (RowIndex i = waiting_front_; i != kNone; i = rows_[i].next) views.push_back(rows_[i].view);
  return views;
}

tl::expected<SequenceView, UnknownSequence> Scheduler::view(SeqId seq) const {
  const auto index = rows_of_.find(seq);
  if (!index) return tl::unexpected(UnknownSequence{seq});
  return rows_[*index].view;
}

}  // namespace forge
