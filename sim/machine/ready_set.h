// ReadySet: which of up to 32 lanes of a warp, or warps of a block, can run, and who goes first.
// Finding the first is two instructions: bit r of the mask stands for the one of rank r.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>

#include "random.h"

namespace forge::simt {

class ReadySet {
 public:
  static constexpr int kSize = 32;

  ReadySet() { ascending(); }

  /// Empties the set and ranks members by their number.
  void ascending() {
    ready_ = 0;
    std::iota(member_.begin(), member_.end(), std::uint8_t{0});
    rank_ = member_;
  }
  /// Empties the set and ranks members at random.
  void shuffle(Random& random) {
    ascending();
    for (std::uint32_t i = kSize - 1; i > 0; --i)
      std::swap(member_[i], member_[random.below(i + 1)]);
    number();
  }

  bool empty() const { return ready_ == 0; }
  int first() const { return member_[static_cast<std::size_t>(std::countr_zero(ready_))]; }
  void add(int member) { ready_ |= bit(member); }
  void add_all() { ready_ = ~0u; }
  void remove(int member) { ready_ &= ~bit(member); }

  /// From now on the last of all.
  void demote(int member) {
    const int rank = rank_[static_cast<std::size_t>(member)];
    const std::uint32_t below = (1u << rank) - 1;
    const std::uint32_t was_ready = (ready_ >> rank) & 1;
    ready_ = (ready_ & below) | ((ready_ >> 1) & ~below & ~kLast) | (was_ready ? kLast : 0);
    for (std::size_t r = static_cast<std::size_t>(rank); r + 1 < kSize; ++r) {
      member_[r] = member_[r + 1];
    }
    member_[kSize - 1] = static_cast<std::uint8_t>(member);
    number();
  }

 private:
  static constexpr std::uint32_t kLast = 1u << (kSize - 1);

  std::uint32_t bit(int member) const { return 1u << rank_[static_cast<std::size_t>(member)]; }
  void number() {
    for (std::size_t r = 0; r < kSize; ++r) rank_[member_[r]] = static_cast<std::uint8_t>(r);
  }

  std::uint32_t ready_ = 0;
  std::array<std::uint8_t, kSize> member_{};  ///< by rank
  std::array<std::uint8_t, kSize> rank_{};    ///< by member
};

}  // namespace forge::simt
