// Merges: the heart of byte-pair encoding (Sennrich, Haddow, Birch 2016, section 3.2).
//
//   l o w e r    rank 0: l o -> lo    rank 1: lo w -> low    rank 2: e r -> er
//   lo w e r     low e r     low er
//
// Again and again, the two neighbours that have the lowest rank in the table become one, the
// leftmost of equals first, until the table merges no neighbours.
//
// A few symbols are searched from end to end each time; more wait in a heap, O(n log n) for n
// symbols: a text of a million letters without a space is a word, too.
//
// Thread contract: const, any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "flat_map.h"

namespace forge::text::detail {

class Merges {
 public:
  struct Pair {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
  };

  /// Symbols are below this number.
  static constexpr std::uint32_t kSymbolsMax = 1U << 31U;
  /// Up to this many symbols are searched; more wait in a heap.
  static constexpr std::size_t kSearchedMax = 32;

  /// Returns: whether the pair is not in the table yet.
  bool add(Pair pair, std::uint32_t merged, std::uint32_t rank) {
    return table_.add(key_of(pair), {rank, merged});
  }

  /// Merges what can be merged. Requires: less than 2^32 symbols.
  void apply(std::vector<std::uint32_t>& symbols) const;

  /// The two ways of apply(), for any number of symbols. For tests.
  void apply_by_search(std::vector<std::uint32_t>& symbols) const;
  void apply_by_heap(std::vector<std::uint32_t>& symbols) const;

 private:
  struct Merge {
    std::uint32_t rank = 0;
    std::uint32_t merged = 0;
  };

  static std::uint64_t key_of(Pair pair) {
    return std::uint64_t{pair.left} << 32U | std::uint64_t{pair.right};
  }
  const Merge* find(std::uint32_t left, std::uint32_t right) const {
    return table_.find(key_of({left, right}));
  }

  FlatMap<Merge> table_;
};

}  // namespace forge::text::detail
