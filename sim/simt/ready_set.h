// ReadySet: which lanes of a warp, or warps of a block, can run, and which of them goes first.
// Members are numbered from 0 and have a rank each; bit r of the mask stands for the member of rank
// r, so that finding the first is one instruction. The first is the one that runs: when it waits,
// it leaves.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "random.h"

namespace forge::simt {

class ReadySet {
 public:
  static constexpr int kSizeMax = 32;

  /// All of `size` members are ready, ranked by their number. Requires: 1 <= size <= kSizeMax.
  void reset(int size) {
    size_ = size;
    std::iota(member_.begin(), member_.begin() + size, std::uint8_t{0});
    refill();
  }
  /// Ranks members at random.
  void shuffle(Random& random) {
    for (int i = size_ - 1; i > 0; --i) {
      std::swap(member_[index(i)], member_[random.below(static_cast<std::uint32_t>(i) + 1)]);
    }
  }

  void refill() { ready_ = ~0u >> (kSizeMax - size_); }
  bool empty() const { return ready_ == 0; }

  // These require a set that is not empty.
  int first() const { return member_[index(__builtin_ctz(ready_))]; }
  void remove_first() { ready_ &= ready_ - 1; }
  /// Gives the first member the last rank of all.
  void demote_first() {
    const int rank = std::countr_zero(ready_);
    std::rotate(member_.begin() + rank, member_.begin() + rank + 1, member_.begin() + size_);
    ready_ = (ready_ & (ready_ - 1)) >> 1 | 1u << (size_ - 1);
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  std::uint32_t ready_ = 0;
  int size_ = 0;
  std::array<std::uint8_t, kSizeMax> member_{};  ///< by rank
};

}  // namespace forge::simt
