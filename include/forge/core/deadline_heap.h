// DeadlineHeap: finds the sequences whose deadline has come.
//
// A binary heap of (step, sequence) that knows the place of each sequence, so that one that ends
// early is erased at once and no stale entry stays behind. All operations are O(log entries).
//
// Its entries are named by the caller's indices of sequences. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "forge/core/ids.h"

namespace forge {

class DeadlineHeap {
 public:
  using Index = std::uint32_t;

  /// Requires: `index` is not in the heap.
  void push(Index index, SeqId seq, StepId deadline);

  /// The sequence with the earliest deadline (ties to the lower id), if that is `now` or earlier.
  std::optional<Index> due(StepId now) const;

  /// Does nothing if `index` is not in the heap.
  void erase(Index index);

  std::size_t size() const { return heap_.size(); }
  std::optional<StepId> deadline(Index index) const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Entry {
    StepId deadline;
    SeqId seq;
    Index index = 0;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.deadline != b.deadline ? a.deadline < b.deadline : a.seq < b.seq;
    }
  };

  void place(std::uint32_t at, const Entry& entry);
  void sift_up(std::uint32_t at);
  void sift_down(std::uint32_t at);

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_of_;  // by index
};

}  // namespace forge
