// WaitQueue: those who wait, in the order of their keys (admission_key, policy.h).
//
// One list for each priority, each in the order of keys, and the first of their heads is next. Any
// keys do. The order is cheap where newcomers of one priority come last in it: they are appended;
// whoever comes elsewhere, such as a sequence that was preempted, passes those who go before.
//
// `overtaken` counts, for one that waits, the requests that were submitted later and first admitted
// meanwhile.
//
// Names its entries by the caller's numbers of sequences. Thread contract: none of its own.
// erase, front: O(1); push: O(1) for who comes last, else O(those passed); admit: O(overtakers
// remembered).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/policy.h"
#include "forge/core/request.h"

namespace forge {

class WaitQueue {
 public:
  using Index = std::uint32_t;

  /// `index` waits, at its place. Requires: it does not wait yet.
  void push(Index index, const AdmissionKey& key, Priority priority);

  /// Who is next; nothing if nobody waits.
  std::optional<Index> front() const;

  /// `index` is admitted for the first time (else resumed). Returns how often it was overtaken
  /// while it waited this time. Requires: it waits.
  std::uint32_t admit(Index index, bool first_time);

  /// `index` gives up waiting. Requires: it waits.
  void erase(Index index);

  /// How often `index` has been overtaken since it was pushed. Requires: it waits.
  std::uint32_t overtaken(Index index) const;

  std::size_t size() const { return size_; }

  /// All that wait, next one first. For checkers and tools.
  std::vector<Index> in_order() const;

 private:
  static constexpr std::size_t kPriorities = 3;
  static constexpr Index kNone = 0xffffffff;

  struct Neighbours {
    Index previous = kNone;
    Index next = kNone;
  };
  struct Entry {
    AdmissionKey key;
    Priority priority = Priority::normal;
    bool waits = false;
    std::uint64_t since = 0;  // first admissions before it began to wait
    Neighbours by_key;        // in the list of its priority
    Neighbours by_arrival;
  };
  struct List {
    Index front = kNone;
    Index back = kNone;
  };
  struct Overtaker {
    SeqId seq;
    std::uint64_t admission = 0;
  };

  template <class Less>
  void insert(List& list, Neighbours Entry::*place, Index index, Less goes_before);
  void remove(List& list, Neighbours Entry::*place, Index index);
  bool came_before(SeqId seq) const;

  std::vector<Entry> entries_;  // by index
  std::array<List, kPriorities> lists_;
  List arrivals_;  // all of them, in order of submission
  std::size_t size_ = 0;
  std::uint64_t admissions_ = 0;
  std::vector<Overtaker> overtakers_;  // of somebody who may still be waiting
};

}  // namespace forge
