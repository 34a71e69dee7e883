// Values, comparisons and targets that the tests of numerics share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"
#include "hwy/highway.h"

namespace forge::numerics {

/// `count` numbers in (-range, range), a pure function of the arguments.
inline std::vector<float> random_values(int count, std::uint64_t seed, float range = 1.0f) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint32_t word = philox({{i, 0, 0, 0}}, seed).x[0];
    values[i] = (uniform_open(word) - 0.5f) * 2.0f * range;
  }
  return values;
}

/// A whole number in [low, high], a pure function of the arguments.
inline int random_int(int low, int high, std::uint64_t seed, std::uint32_t index) {
  const std::uint32_t word = philox({{index, 1, 0, 0}}, seed).x[0];
  return low + static_cast<int>(word % static_cast<std::uint32_t>(high - low + 1));
}

/// The patterns of `values`: comparing them compares bits, signs of zeros included.
inline std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(bits_of(value));
  return bits;
}

/// Runs `check` on every instruction set that this machine has and Highway compiles for.
template <class Check>
void for_every_target(const Check& check) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace forge::numerics
