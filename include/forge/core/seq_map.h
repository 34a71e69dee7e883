// SeqMap: a map from sequence ids to the caller's indices, in one flat array.
//
// Open addressing with linear probing and backward-shift deletion (Knuth, TAOCP 3, 6.4,
// algorithm R), so there are no tombstones and, once grown, no allocation. It cannot be
// iterated: no decision may ever depend on the order of a hash table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "forge/core/ids.h"

namespace forge {

class SeqMap {
 public:
  SeqMap() : entries_(16) {}

  std::size_t size() const { return size_; }

  std::optional<std::uint32_t> find(SeqId seq) const {
    for (std::size_t i = home(seq);; i = next(i)) {
      if (entries_[i].index == kEmpty) return std::nullopt;
      if (entries_[i].seq == seq) return entries_[i].index;
    }
  }

  /// Requires: `seq` is not in the map.
  void insert(SeqId seq, std::uint32_t index) {
    if ((size_ + 1) * 2 > entries_.size()) grow();
    place({seq, index});
    ++size_;
  }

  /// Requires: `seq` is in the map.
  void erase(SeqId seq) {
    std::size_t hole = home(seq);
    while (entries_[hole].seq != seq || entries_[hole].index == kEmpty) hole = next(hole);
    for (std::size_t i = next(hole); entries_[i].index != kEmpty; i = next(i)) {
      // An entry may move back into the hole unless its home lies cyclically in (hole, i].
      const std::size_t mask = entries_.size() - 1;
      if (((i - home(entries_[i].seq)) & mask) >= ((i - hole) & mask)) {
        entries_[hole] = entries_[i];
        hole = i;
      }
    }
    entries_[hole] = {};
    --size_;
  }

 private:
  static constexpr std::uint32_t kEmpty = 0xffffffff;
  struct Entry {
    SeqId seq;
    std::uint32_t index = kEmpty;
  };

  std::size_t home(SeqId seq) const {
    // Fibonacci hashing: consecutive ids spread over the table.
    return static_cast<std::size_t>((seq.value * 0x9e3779b97f4a7c15u) >> 32) &
           (entries_.size() - 1);
  }
  std::size_t next(std::size_t i) const { return (i + 1) & (entries_.size() - 1); }

  void place(Entry entry) {
    std::size_t i = home(entry.seq);
    while (entries_[i].index != kEmpty) i = next(i);
    entries_[i] = entry;
  }

  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.index != kEmpty) place(entry);
    }
  }

  std::vector<Entry> entries_;  // size is a power of two, at most half full
  std::size_t size_ = 0;
};

}  // namespace forge
