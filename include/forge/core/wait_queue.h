// WaitQueue: who is admitted next.
//
// Three queues, one a priority, each in order of submission. Between their heads the smallest key
// goes first, ties to the earlier submission:
//
//   key = sequence id + head_start * (levels below high)        high 0, normal 1, low 2
//
// Ids count submissions, so a key is a place in the order of arrival, moved back by a fixed number
// of places for each level. That is all the aging there is, and it needs no clock and no pass over
// the queue: request r, submitted as number n with l levels below high, is overtaken only by
// requests submitted as n + 1 .. n + l * head_start - 1; later ones, however important, come after
// it. The bound of l * head_start - 1 overtakers holds for its whole life: whoever is preempted
// comes back with the same key, to the same place.
//
// `overtaken` counts them: the requests that were submitted later and first admitted while this
// one waited.
//
// Names its entries by the caller's row numbers. Thread contract: none of its own. push, erase,
// front: O(1), but push after a preemption passes the entries of the same priority that were
// submitted before, all of them preempted too; admit: O(overtakers remembered).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/request.h"

namespace forge {

class WaitQueue {
 public:
  using Row = std::uint32_t;

  explicit WaitQueue(std::uint32_t head_start) : head_start_(head_start) {}

  /// `row` waits, at its place. Requires: it does not wait yet.
  void push(Row row, SeqId seq, Priority priority);

  /// Who is next; nothing if nobody waits.
  std::optional<Row> front() const;

  /// `row` is admitted for the first time (else resumed). Returns how often it was overtaken
  /// while it waited this time. Requires: it waits.
  std::uint32_t admit(Row row, bool first_time);

  /// `row` gives up waiting. Requires: it waits.
  void erase(Row row);

  /// How often `row` has been overtaken since it was pushed. Requires: it waits.
  std::uint32_t overtaken(Row row) const;

  std::size_t size() const { return size_; }

  /// All that wait, next one first. For checkers and tools.
  std::vector<Row> in_order() const;

 private:
  static constexpr std::size_t kPriorities = 3;
  static constexpr Row kNone = 0xffffffff;

  struct Entry {
    SeqId seq;
    Priority priority = Priority::normal;
    bool waits = false;
    std::uint64_t since = 0;  // first admissions before it began to wait
    Row previous = kNone;
    Row next = kNone;
  };
  struct List {
    Row front = kNone;
    Row back = kNone;
  };
  struct Overtaker {
    SeqId seq;
    std::uint64_t admission = 0;
  };

  std::uint64_t key(const Entry& entry) const;
  bool goes_before(Row a, Row b) const;
  void forget_overtakers();

  std::uint32_t head_start_;
  std::vector<Entry> entries_;  // by row
  std::array<List, kPriorities> lists_;
  std::size_t size_ = 0;
  std::uint64_t admissions_ = 0;
  std::vector<Overtaker> overtakers_;  // of somebody who may still be waiting
};

}  // namespace forge
