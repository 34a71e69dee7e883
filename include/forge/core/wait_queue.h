// WaitQueue: the waiting sequences, in the order of their keys (admission_key, policy.h).
//
// It has a list for each priority, in the order of keys; the lowest of the lists' heads is next.
// Any keys will do, but the order is cheap where a new sequence comes last among its priority: it
// is appended. One that comes elsewhere, such as a preempted sequence, first passes those that go
// before it.
//
// `overtaken` counts, for a waiting sequence, the requests that were submitted later and first
// admitted while it waited.
//
// Its entries are named by the caller's indices of sequences. Thread contract: none of its own.
// erase, front: O(1); push: O(1) for a sequence that comes last, else O(those passed); admit:
// O(overtakers remembered).
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

  /// Adds `index` at the place of its key. Requires: it does not wait yet.
  void push(Index index, const AdmissionKey& key, Priority priority);

  /// The next sequence to admit; nullopt if none waits.
  std::optional<Index> front() const;

  /// Removes `index`, which is admitted, for the first time or (else) resumed. Returns how often it
  /// was overtaken while it waited this time. Requires: it waits.
  std::uint32_t admit(Index index, bool first_time);

  /// Removes `index`, which gives up waiting. Requires: it waits.
  void erase(Index index);

  /// The number of times that `index` has been overtaken since it was pushed. Requires: it waits.
  std::uint32_t overtaken(Index index) const;

  std::size_t size() const { return size_; }

  /// All waiting sequences, the next one first. For checkers and tools.
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
  std::vector<Overtaker> overtakers_;  // those of sequences that may still wait
};

}  // namespace forge
