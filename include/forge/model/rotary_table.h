// RotaryTable: cosines and sines of rotary position embedding, one row a position.
//
// A row is computed once, in double, by the canonical sincos (numerics/rotary.h), from the model's
// frequencies (rope_frequencies.h), and kept. The table grows to the longest sequence seen; a row
// never changes, so growth cannot change an output.
//
// Owns the rows. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "forge/model/model_config.h"

namespace forge::model {

class RotaryTable {
 public:
  /// All positions are below this number: angles then stay within the domain of sincos.
  static constexpr std::uint32_t kPositionsMax = 1U << 24;

  /// Requires: validate() accepts `rope`.
  explicit RotaryTable(const RopeConfig& rope);

  /// Makes rows 0 .. positions-1 available; at least doubles, so growth is amortised.
  /// Requires: positions <= kPositionsMax.
  void ensure(std::uint32_t positions);

  /// [rope.size / 2] each. Requires: position is available.
  const float* cos(std::uint32_t position) const { return rows_.data() + position * 2 * half_; }
  const float* sin(std::uint32_t position) const { return cos(position) + half_; }

 private:
  std::size_t half_;
  std::vector<double> frequencies_;  // radians per position
  float factor_;                     // factor of cosines and sines
  std::vector<float> rows_;          // [positions][2][rope.size / 2]
};

}  // namespace forge::model
