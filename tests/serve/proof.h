// What scripts/prove serve runs at length, CI samples: FORGE_SEED says that it is the former.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>

namespace forge::test {

/// The seed of a proof; nothing in a run of the test suite.
inline std::optional<std::uint64_t> proof_seed() {
  const char* const seed = std::getenv("FORGE_SEED");
  if (seed == nullptr) return std::nullopt;
  return std::strtoull(seed, nullptr, 10);
}

}  // namespace forge::test
