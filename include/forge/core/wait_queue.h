// WaitQueue: the waiting sequences, and whose turn it is.
//
//   client A, user 1   | 12 | 14 | 19 |       A line for each user, in the order of admission_key
//   client A, user 2   | 15 |                 (policy.h). The first of each line is a candidate;
//   client B, user 1   | 13 | 16 |            has_turn_before says which of them is next.
//
// A line has a list for each priority, in the order of keys; the lowest of the lists' heads is its
// first. Any keys will do, but the order is cheap where a new sequence comes last among its
// priority: it is appended. One that comes elsewhere, such as a preempted sequence, first passes
// those that go before it.
//
// `overtaken` counts, for a waiting sequence, the requests of its user that were submitted later
// and first admitted while it waited.
//
// Its entries are named by the caller's indices of sequences. Thread contract: none of its own.
// erase: O(1); push: O(1) for a sequence that comes last, else O(those passed); front: O(users that
// wait); admit: O(overtakers remembered).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "forge/core/fair_shares.h"
#include "forge/core/ids.h"
#include "forge/core/policy.h"
#include "forge/core/request.h"

namespace forge {

/// A sequence that begins to wait.
struct Waiting {
  AdmissionKey key;
  Priority priority = Priority::normal;
  bool resumes = false;        ///< it has been in the batch before
  FairShares::Index user = 0;  ///< whose it is, by WaitQueue::shares()
};

class WaitQueue {
 public:
  using Index = std::uint32_t;

  /// Who has had what. The caller enters its users and charges them; the queue says who waits.
  FairShares& shares() { return shares_; }
  const FairShares& shares() const { return shares_; }

  /// Adds `index` at its place. Requires: it does not wait yet.
  void push(Index index, const Waiting& waiting);

  /// The next sequence to admit; nullopt if none waits.
  std::optional<Index> front() const;

  /// Removes `index`, which is admitted, for the first time or (else) resumed. Returns how often it
  /// was overtaken while it waited this time. Requires: it waits.
  std::uint32_t admit(Index index);

  /// Removes `index`, which gives up waiting. Requires: it waits.
  void erase(Index index);

  /// The number of times that `index` has been overtaken since it was pushed. Requires: it waits.
  std::uint32_t overtaken(Index index) const;

  std::size_t size() const { return size_; }

  /// All waiting sequences, line after line: the next one first. For checkers and tools.
  std::vector<Index> in_order() const;

 private:
  static constexpr std::size_t kPriorities = 3;
  static constexpr Index kNone = 0xffffffff;

  struct Neighbours {
    Index previous = kNone;
    Index next = kNone;
  };
  struct Entry : Waiting {
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
  struct Line {
    std::array<List, kPriorities> lists;
    List arrivals;                      // all of them, in order of submission
    std::vector<Overtaker> overtakers;  // those of sequences that may still wait
    std::size_t place = 0;              // among the lines in use
  };

  template <class Less>
  void insert(List& list, Neighbours Entry::*place, Index index, Less goes_before);
  void remove(List& list, Neighbours Entry::*place, Index index);
  Index first_of(const Line& line) const;
  Candidate candidate(const Line& line) const;
  bool came_before(const Line& line, SeqId seq) const;

  FairShares shares_;
  std::vector<Entry> entries_;             // by index
  std::vector<Line> lines_;                // by user
  std::vector<FairShares::Index> in_use_;  // the lines that somebody waits in
  std::size_t size_ = 0;
  std::uint64_t admissions_ = 0;
};

}  // namespace forge
