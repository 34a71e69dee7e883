#include "peers_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "forge/core/check.h"

namespace forge {

BitComparison& BitComparison::operator+=(const BitComparison& other) {
  compared += other.compared;
  different += other.different;
  return *this;
}

BitComparison compare_bits(std::span<const float> a, std::span<const float> b) {
  FORGE_CHECK(a.size() == b.size(), a.size(), " results and ", b.size());
  BitComparison comparison{.compared = a.size()};
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) ||
        std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) {
      ++comparison.different;
    }
  }
  return comparison;
}

std::string to_string(const BitComparison& comparison) {
  if (comparison.survived()) return "yes";
  return "no: " + std::to_string(comparison.different) + " of " +
         std::to_string(comparison.compared);
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  FORGE_CHECK(a.size() == b.size(), a.size(), " results and ", b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

}  // namespace forge
