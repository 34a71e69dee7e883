#include "forge/core/wait_queue.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge {

void WaitQueue::push(Index index, const Waiting& waiting) {
  if (entries_.size() <= index) entries_.resize(index + std::size_t{1});
  if (lines_.size() <= waiting.user) lines_.resize(waiting.user + std::size_t{1});
  Entry& entry = entries_[index];
  FORGE_CHECK(!entry.waits, "sequence ", waiting.key.seq.value, " waits already");
  entry = {waiting, true, admissions_, {}, {}};
  Line& line = lines_[waiting.user];
  if (line.arrivals.front == kNone) {
    line.place = in_use_.size();
    in_use_.push_back(waiting.user);
  }
  insert(line.lists[static_cast<std::size_t>(waiting.priority)], &Entry::by_key, index,
         [](const Entry& a, const Entry& b) { return a.key < b.key; });
  insert(line.arrivals, &Entry::by_arrival, index,
         [](const Entry& a, const Entry& b) { return a.key.seq < b.key.seq; });
  shares_.begin_waiting(waiting.user);
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

/// Requires: somebody waits in it.
WaitQueue::Index WaitQueue::first_of(const Line& line) const {
  Index best = kNone;
  for (const List& list : line.lists) {
    if (list.front == kNone) continue;
    if (best == kNone || entries_[list.front].key < entries_[best].key) best = list.front;
  }
  return best;
}

Candidate WaitQueue::candidate(const Line& line) const {
  const Entry& entry = entries_[first_of(line)];
  return {.resumes = entry.resumes,
          .client = shares_.share_of_client(entry.user),
          .user = shares_.share_of_user(entry.user),
          .key = entry.key};
}

std::optional<WaitQueue::Index> WaitQueue::front() const {
  if (in_use_.empty()) return std::nullopt;
  const Line* next = &lines_[in_use_.front()];
  for (const FairShares::Index user : in_use_) {
    const Line& line = lines_[user];
    if (&line != next && has_turn_before(candidate(line), candidate(*next))) next = &line;
  }
  return first_of(*next);
}

std::uint32_t WaitQueue::admit(Index index) {
  const std::uint32_t overtaken_now = overtaken(index);
  erase(index);
  const Entry& entry = entries_[index];
  Line& line = lines_[entry.user];
  if (!entry.resumes) {
    ++admissions_;
    if (came_before(line, entry.key.seq)) line.overtakers.push_back({entry.key.seq, admissions_});
    shares_.take_turn(entry.user);
  }
  // Whoever was submitted before everyone that waits has overtaken none of them.
  if (!line.overtakers.empty()) {
    std::erase_if(line.overtakers, [&](const Overtaker& o) { return !came_before(line, o.seq); });
  }
  return overtaken_now;
}

/// Does anybody wait in the line who was submitted before `seq`?
bool WaitQueue::came_before(const Line& line, SeqId seq) const {
  return line.arrivals.front != kNone && entries_[line.arrivals.front].key.seq < seq;
}

void WaitQueue::erase(Index index) {
  FORGE_CHECK(index < entries_.size() && entries_[index].waits, "entry ", index, " does not wait");
  Entry& entry = entries_[index];
  Line& line = lines_[entry.user];
  remove(line.lists[static_cast<std::size_t>(entry.priority)], &Entry::by_key, index);
  remove(line.arrivals, &Entry::by_arrival, index);
  if (line.arrivals.front == kNone) {
    lines_[in_use_.back()].place = line.place;
    in_use_[line.place] = in_use_.back();
    in_use_.pop_back();
  }
  entry.waits = false;
  shares_.end_waiting(entry.user);
  --size_;
}

std::uint32_t WaitQueue::overtaken(Index index) const {
  const Entry& entry = entries_[index];
  const auto& overtakers = lines_[entry.user].overtakers;
  return static_cast<std::uint32_t>(std::ranges::count_if(overtakers, [&](const Overtaker& o) {
    return o.seq > entry.key.seq && o.admission > entry.since;
  }));
}

std::vector<WaitQueue::Index> WaitQueue::in_order() const {
  std::vector<FairShares::Index> users = in_use_;
  std::ranges::sort(users, [&](FairShares::Index a, FairShares::Index b) {
    return has_turn_before(candidate(lines_[a]), candidate(lines_[b]));
  });
  std::vector<Index> indices;
  for (const FairShares::Index user : users) {
    const auto first = static_cast<std::ptrdiff_t>(indices.size());
    Index index = lines_[user].arrivals.front;
    for (; index != kNone; index = entries_[index].by_arrival.next) indices.push_back(index);
    std::sort(indices.begin() + first, indices.end(),
              [&](Index a, Index b) { return entries_[a].key < entries_[b].key; });
  }
  return indices;
}

}  // namespace forge
