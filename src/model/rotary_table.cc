#include "forge/model/rotary_table.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/numerics/rotary.h"

namespace forge {

RotaryTable::RotaryTable(const TinyConfig& config)
    : half_(static_cast<std::size_t>(config.head_size) / 2) {
  for (int pair = 0; pair < config.head_size / 2; ++pair) {
    frequencies_.push_back(numerics::rotary_frequency(config.rope_base, pair, config.head_size));
  }
}

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
      row[pair] = angle.cos;
      row[half_ + pair] = angle.sin;
    }
  }
}

}  // namespace forge
