// Whether results are the same to the bit, and how far apart they are if not. Memory for results
// begins as NaN, and what is NaN is no result: it is the same as nothing.
//
// Thread contract: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace forge {

struct BitComparison {
  std::uint64_t compared = 0;
  std::uint64_t different = 0;  ///< in any bit, or NaN

  bool survived() const { return different == 0; }
  BitComparison& operator+=(const BitComparison& other);
  friend bool operator==(const BitComparison&, const BitComparison&) = default;
};

/// Requires: equal sizes.
BitComparison compare_bits(std::span<const float> a, std::span<const float> b);

/// "yes", or "no: 12 of 4096".
std::string to_string(const BitComparison& comparison);

/// Infinite where a difference is NaN. Requires: equal sizes.
double largest_difference(std::span<const float> a, std::span<const float> b);

}  // namespace forge
