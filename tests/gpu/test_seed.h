// The seed of a run of tests: 1, or what FORGE_SEED says. It decides in which orders threads of
// simulated kernels run, and what their inputs are; scripts/prove runs the same tests with many.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace forge::gpu {

inline std::uint64_t test_seed() {
  const char* const seed = std::getenv("FORGE_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1;
}

/// The orders of threads in which something is left out of a kernel (simt::LaunchOptions::seed):
/// ascending, and two that no run with another seed has.
inline std::array<std::optional<std::uint64_t>, 3> orders() {
  return {std::nullopt, 2 * test_seed() - 1, 2 * test_seed()};
}

}  // namespace forge::gpu
