// Histogram: how often values fell between fixed edges, and their sum.
//
//   bucket   counts the values of edges 1, 2, 5
//   0        x <= 1
//   1        1 < x <= 2
//   2        2 < x <= 5
//   3        5 < x
//
// The edges are constants of the type, so a histogram is a row of integers: adding to it neither
// allocates nor locks, and copying it is copying memory. What a page shows of it is cumulative
// ("so many values were at most 2"), which is left to who writes the page. From two copies taken
// some time apart, a reader has the quantiles of the time between, up to the width of a bucket.
//
// Thread contract: a value.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace forge::engine {

/// The numbers of a histogram, whatever its edges.
struct HistogramView {
  std::span<const double> edges;          ///< ascending
  std::span<const std::uint64_t> counts;  ///< one more than there are edges
  double sum = 0;
};

/// `kEdges` is an array of doubles of static storage, ascending.
template <const auto& kEdges>
class Histogram {
  static_assert(std::ranges::is_sorted(kEdges), "edges ascend");

 public:
  /// Counts `value`. O(log edges).
  void add(double value) {
    const auto edge = std::ranges::lower_bound(kEdges, value);
    ++counts_[static_cast<std::size_t>(edge - kEdges.begin())];
    sum_ += value;
  }

  HistogramView view() const { return {.edges = kEdges, .counts = counts_, .sum = sum_}; }

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  std::array<std::uint64_t, kEdges.size() + 1> counts_{};
  double sum_ = 0;
};

}  // namespace forge::engine
