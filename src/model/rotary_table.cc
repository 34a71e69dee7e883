#include "forge/model/rotary_table.h"

#include <algorithm>
#include <utility>

#include "forge/core/check.h"
#include "forge/numerics/rotary.h"

namespace forge {

namespace {

std::vector<double> frequencies_of(const TinyConfig& config) {
  std::vector<double> frequencies;
  frequencies.reserve(static_cast<std::size_t>(config.head_size) / 2);
  for (int pair = 0; pair < config.head_size / 2; ++pair) {
    frequencies.push_back(numerics::rotary_frequency(config.rope_base, pair, config.head_size));
  }
  return frequencies;
}

}  // namespace

RotaryTable::RotaryTable(const TinyConfig& config) : RotaryTable(frequencies_of(config)) {}

RotaryTable::RotaryTable(std::vector<double> frequencies, double factor)
    : half_(frequencies.size()),
      frequencies_(std::move(frequencies)),
      factor_(static_cast<float>(factor)) {
  FORGE_CHECK(half_ >= 1, "no frequencies");
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
      row[pair] = angle.cos * factor_;
      row[half_ + pair] = angle.sin * factor_;
    }
  }
}

}  // namespace forge
