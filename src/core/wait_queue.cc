#include "forge/core/wait_queue.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge {
namespace {

std::size_t level(Priority priority) {
  return static_cast<std::size_t>(Priority::high) - static_cast<std::size_t>(priority);
}

}  // namespace

void WaitQueue::push(Row row, SeqId seq, Priority priority) {
  if (entries_.size() <= row) entries_.resize(row + std::size_t{1});
  Entry& entry = entries_[row];
  FORGE_CHECK(!entry.waits, "sequence ", seq.value, " waits already");
  List& list = lists_[level(priority)];
  // A fresh request has the highest id; one that was preempted, one of the lowest.
  Row next = kNone;
  if (list.back != kNone && entries_[list.back].seq > seq) {
    next = list.front;
    while (entries_[next].seq < seq) next = entries_[next].next;
  }
  const Row previous = next == kNone ? list.back : entries_[next].previous;
  entry = {.seq = seq,
           .priority = priority,
           .waits = true,
           .since = admissions_,
           .previous = previous,
           .next = next};
  (previous == kNone ? list.front : entries_[previous].next) = row;
  (next == kNone ? list.back : entries_[next].previous) = row;
  ++size_;
}

std::optional<WaitQueue::Row> WaitQueue::front() const {
  Row best = kNone;
  for (const List& list : lists_) {
    if (list.front != kNone && (best == kNone || goes_before(list.front, best))) best = list.front;
  }
  return best == kNone ? std::nullopt : std::optional(best);
}

std::uint32_t WaitQueue::admit(Row row, bool first_time) {
  const std::uint32_t overtaken_now = overtaken(row);
  const SeqId seq = entries_[row].seq;
  erase(row);
  if (first_time) {
    ++admissions_;
    const auto submitted_before = [&](const List& list) {
      return list.front != kNone && entries_[list.front].seq < seq;
    };
    if (std::ranges::any_of(lists_, submitted_before)) overtakers_.push_back({seq, admissions_});
  }
  forget_overtakers();
  return overtaken_now;
}

void WaitQueue::erase(Row row) {
  FORGE_CHECK(row < entries_.size() && entries_[row].waits, "row ", row, " does not wait");
  Entry& entry = entries_[row];
  List& list = lists_[level(entry.priority)];
  (entry.previous == kNone ? list.front : entries_[entry.previous].next) = entry.next;
  (entry.next == kNone ? list.back : entries_[entry.next].previous) = entry.previous;
  entry.waits = false;
  --size_;
}

std::uint32_t WaitQueue::overtaken(Row row) const {
  const Entry& entry = entries_[row];
  return static_cast<std::uint32_t>(std::ranges::count_if(overtakers_, [&](const Overtaker& o) {
    return o.seq > entry.seq && o.admission > entry.since;
  }));
}

std::vector<WaitQueue::Row> WaitQueue::in_order() const {
  std::vector<Row> rows;
  for (const List& list : lists_) {
    for (Row row = list.front; row != kNone; row = entries_[row].next) rows.push_back(row);
  }
  std::ranges::sort(rows, [&](Row a, Row b) { return goes_before(a, b); });
  return rows;
}

bool WaitQueue::goes_before(Row a, Row b) const {
  const std::uint64_t key_a = key(entries_[a]);
  const std::uint64_t key_b = key(entries_[b]);
  return key_a != key_b ? key_a < key_b : entries_[a].seq < entries_[b].seq;
}

std::uint64_t WaitQueue::key(const Entry& entry) const {
  return entry.seq.value + std::uint64_t{head_start_} * level(entry.priority);
}

/// Whoever was submitted before everyone that waits has overtaken none of them.
void WaitQueue::forget_overtakers() {
  if (overtakers_.empty()) return;
  std::erase_if(overtakers_, [&](const Overtaker& overtaker) {
    return std::ranges::none_of(lists_, [&](const List& list) {
      return list.front != kNone && entries_[list.front].seq < overtaker.seq;
    });
  });
}

}  // namespace forge
