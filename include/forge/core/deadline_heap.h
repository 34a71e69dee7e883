// DeadlineHeap: whose time is up.
//
// A binary heap of (step, sequence) that knows where each row is, so that who ends early
// leaves at once and nothing stale stays behind. All operations O(log entries).
//
// Names its entries by the caller's row numbers. Thread contract: none of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "forge/core/ids.h"

namespace forge {

class DeadlineHeap {
 public:
  using Row = std::uint32_t;

  /// Requires: `row` is not in the heap.
  void push(Row row, SeqId seq, StepId deadline);

  /// The row with the earliest deadline, ties to the lower sequence, if that is `now` or earlier.
  std::optional<Row> due(StepId now) const;

  /// Does nothing if `row` is not in the heap.
  void erase(Row row);

  std::size_t size() const { return heap_.size(); }
  std::optional<StepId> deadline(Row row) const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Entry {
    StepId deadline;
    SeqId seq;
    Row row = 0;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.deadline != b.deadline ? a.deadline < b.deadline : a.seq < b.seq;
    }
  };

  void place(std::uint32_t at, const Entry& entry);
  void sift_up(std::uint32_t at);
  void sift_down(std::uint32_t at);

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_of_;  // by row
};

}  // namespace forge
