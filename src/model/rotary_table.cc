#include "forge/model/rotary_table.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/model/rope_frequencies.h"
#include "forge/numerics/rotary.h"

namespace forge::model {

RotaryTable::RotaryTable(const RopeConfig& rope)
    : half_(static_cast<std::size_t>(rope.size) / 2),
      frequencies_(rope_frequencies(rope)),
      factor_(static_cast<float>(rope_attention_factor(rope))) {}

void RotaryTable::ensure(std::uint32_t positions) {
  FORGE_CHECK(positions <= kPositionsMax, "positions=", positions, " max=", kPositionsMax);
  const std::size_t available = rows_.size() / (2 * half_);
  if (positions <= available) return;
  const std::size_t wanted = std::max<std::size_t>({positions, 2 * available, 256});
  rows_.resize(wanted * 2 * half_);
  for (std::size_t position = available; position < wanted; ++position) {
    float* row = rows_.data() + position * 2 * half_;
    for (std::size_t pair = 0; pair < half_; ++pair) {
      const auto angle = numerics::sincos(static_cast<double>(position) * frequencies_[pair]);
      row[pair] = angle.cos * factor_;
      row[half_ + pair] = angle.sin * factor_;
    }
  }
}

}  // namespace forge::model
