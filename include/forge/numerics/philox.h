// Philox4x32-10: a random number generator without state.
//
// The output is a pure function of a 128-bit counter and a 64-bit key, so a draw is
// named by what it is for (request seed, stream, position), not by how many draws came
// before it. This is what makes sampling independent of batching, preemption and
// speculation. Ten rounds pass every test of TestU01's BigCrush.
//
// Host and device, thread-safe. Source: Salmon, Moraes, Dror, Shaw, "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC'11, section 4.3 and table 2.
#pragma once

#include <cstdint>

#include "forge/numerics/host_device.h"

namespace forge::numerics {

/// Four 32-bit words: a counter, or the random words for it. Word 0 is the lowest.
struct Words4 {
  std::uint32_t x[4];

  friend bool operator==(const Words4&, const Words4&) = default;
};

/// The block of 128 random bits with number `counter` of the generator `key` (key word 0 is
/// the low half). Different (counter, key) pairs give independent blocks.
FORGE_HOST_DEVICE inline Words4 philox(Words4 counter, std::uint64_t key) {
  constexpr std::uint64_t kMultiplier0 = 0xd2511f53u;
  constexpr std::uint64_t kMultiplier1 = 0xcd9e8d57u;
  constexpr std::uint32_t kWeyl0 = 0x9e3779b9u;  // golden ratio
  constexpr std::uint32_t kWeyl1 = 0xbb67ae85u;  // sqrt(3) - 1
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter.x[0];
    const std::uint64_t product1 = kMultiplier1 * counter.x[2];
    counter = {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.x[1] ^ key0,
                static_cast<std::uint32_t>(product1),
                static_cast<std::uint32_t>(product0 >> 32) ^ counter.x[3] ^ key1,
                static_cast<std::uint32_t>(product0)}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

/// The upper 23 bits of `word` as a number strictly between 0 and 1: (2 (word >> 9) + 1) / 2^24.
/// Exact, symmetric about 1/2, and safe for log(u) and log(-log(u)).
FORGE_HOST_DEVICE inline float uniform_open(std::uint32_t word) {
  return (static_cast<float>(word >> 9) + 0.5f) * 0x1p-23f;
}

}  // namespace forge::numerics
