#include "forge/core/wait_queue.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge {

void WaitQueue::push(Index index, const AdmissionKey& key, Priority priority) {
  if (entries_.size() <= index) entries_.resize(index + std::size_t{1});
  Entry& entry = entries_[index];
  FORGE_CHECK(!entry.waits, "sequence ", key.seq.value, " waits already");
  entry = {.key = key, .priority = priority, .waits = true, .since = admissions_};
  insert(lists_[static_cast<std::size_t>(priority)], &Entry::by_key, index,
         [](const Entry& a, const Entry& b) { return a.key < b.key; });
  insert(arrivals_, &Entry::by_arrival, index,
         [](const Entry& a, const Entry& b) { return a.key.seq < b.key.seq; });
  ++size_;
}

template <class Less>
void WaitQueue::insert(List& list, Neighbours Entry::*place, Index index, Less goes_before) {
  const Entry& entry = entries_[index];
  // Newcomers come last as a rule; one that was preempted is among the first.
  Index next = kNone;
  if (list.back != kNone && goes_before(entry, entries_[list.back])) {
    next = list.front;
    while (goes_before(entries_[next], entry)) next = (entries_[next].*place).next;
  }
  const Index previous = next == kNone ? list.back : (entries_[next].*place).previous;
  entries_[index].*place = {previous, next};
  (previous == kNone ? list.front : (entries_[previous].*place).next) = index;
  (next == kNone ? list.back : (entries_[next].*place).previous) = index;
}

void WaitQueue::remove(List& list, Neighbours Entry::*place, Index index) {
  const auto [previous, next] = entries_[index].*place;
  (previous == kNone ? list.front : (entries_[previous].*place).next) = next;
  (next == kNone ? list.back : (entries_[next].*place).previous) = previous;
}

std::optional<WaitQueue::Index> WaitQueue::front() const {
  Index best = kNone;
  for (const List& list : lists_) {
    if (list.front == kNone) continue;
    if (best == kNone || entries_[list.front].key < entries_[best].key) best = list.front;
  }
  return best == kNone ? std::nullopt : std::optional(best);
}

std::uint32_t WaitQueue::admit(Index index, bool first_time) {
  const std::uint32_t overtaken_now = overtaken(index);
  const SeqId seq = entries_[index].key.seq;
  erase(index);
  if (first_time) {
    ++admissions_;
    if (came_before(seq)) overtakers_.push_back({seq, admissions_});
  }
  // Whoever was submitted before everyone that waits has overtaken none of them.
  if (!overtakers_.empty()) {
    std::erase_if(overtakers_, [&](const Overtaker& o) { return !came_before(o.seq); });
  }
  return overtaken_now;
}

/// Does anybody wait who was submitted before `seq`?
bool WaitQueue::came_before(SeqId seq) const {
  return arrivals_.front != kNone && entries_[arrivals_.front].key.seq < seq;
}

void WaitQueue::erase(Index index) {
  FORGE_CHECK(index < entries_.size() && entries_[index].waits, "entry ", index, " does not wait");
  Entry& entry = entries_[index];
  remove(lists_[static_cast<std::size_t>(entry.priority)], &Entry::by_key, index);
  remove(arrivals_, &Entry::by_arrival, index);
  entry.waits = false;
  --size_;
}

std::uint32_t WaitQueue::overtaken(Index index) const {
  const Entry& entry = entries_[index];
  return static_cast<std::uint32_t>(std::ranges::count_if(overtakers_, [&](const Overtaker& o) {
    return o.seq > entry.key.seq && o.admission > entry.since;
  }));
}

std::vector<WaitQueue::Index> WaitQueue::in_order() const {
  std::vector<Index> indices;
  for (Index index = arrivals_.front; index != kNone; index = entries_[index].by_arrival.next) {
    indices.push_back(index);
  }
  std::ranges::sort(indices, {}, [&](Index index) { return entries_[index].key; });
  return indices;
}

}  // namespace forge
