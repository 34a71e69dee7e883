#include "forge/core/deadline_heap.h"

#include "forge/core/check.h"

namespace forge {

void DeadlineHeap::push(Index index, SeqId seq, StepId deadline) {
  if (place_of_.size() <= index) place_of_.resize(index + std::size_t{1}, kNone);
  FORGE_CHECK(place_of_[index] == kNone, "sequence ", seq.value, " has a deadline already");
  heap_.push_back({deadline, seq, index});
  sift_up(static_cast<std::uint32_t>(heap_.size() - 1));
}

std::optional<DeadlineHeap::Index> DeadlineHeap::due(StepId now) const {
  if (heap_.empty() || heap_.front().deadline > now) return std::nullopt;
  return heap_.front().index;
}

void DeadlineHeap::erase(Index index) {
  if (index >= place_of_.size() || place_of_[index] == kNone) return;
  const std::uint32_t hole = place_of_[index];
  place_of_[index] = kNone;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.index == index) return;
  place(hole, last);
  sift_up(hole);
  sift_down(place_of_[last.index]);
}

std::optional<StepId> DeadlineHeap::deadline(Index index) const {
  if (index >= place_of_.size() || place_of_[index] == kNone) return std::nullopt;
  return heap_[place_of_[index]].deadline;
}

void DeadlineHeap::place(std::uint32_t at, const Entry& entry) {
  heap_[at] = entry;
  place_of_[entry.index] = at;
}

void DeadlineHeap::sift_up(std::uint32_t at) {
  const Entry entry = heap_[at];
  for (; at > 0 && entry < heap_[(at - 1) / 2]; at = (at - 1) / 2) place(at, heap_[(at - 1) / 2]);
  place(at, entry);
}

void DeadlineHeap::sift_down(std::uint32_t at) {
  const Entry entry = heap_[at];
  const auto size = static_cast<std::uint32_t>(heap_.size());
  for (std::uint32_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
    if (child + 1 < size && heap_[child + 1] < heap_[child]) ++child;
    if (!(heap_[child] < entry)) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, entry);
}

}  // namespace forge
