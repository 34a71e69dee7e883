// logits_digest: 64 bits that stand for a row of logits, bit for bit.
//
// Digest (core/digest.h) takes a byte at a time, 8 multiplications a word, one after the
// other; a row of 320 logits would cost more than picking from it. Here eight lanes
// take a word of two floats each, side by side:
//
//   step(h, w)  h = (h ^ w) * m, then h ^= h >> 32
//   word[i]     bits of x[2 i] | bits of x[2 i + 1] << 32, a missing float being 0
//   lane[j]     starts at 2^64 / golden ratio + j, then step by word[j], word[j + 8], ...
//   digest      starts at the number of floats, then step by lane[0], ... lane[7]
//
// with m = 0xd6e8feb86659fd93. step is a bijection of h and of w, so a single changed float
// always changes the digest. It detects differences; it does not resist an adversary.
//
// The pieces are for host and device; logits_digest puts them together on a CPU, the kernel
// digest_logits on a GPU.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "forge/numerics/canonical.h"

namespace forge::executor {

inline constexpr int kDigestLanes = 8;

/// The value that lane j starts with.
FORGE_HOST_DEVICE constexpr std::uint64_t digest_lane_start(int j) {
  return 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(j);
}

/// One step of the hash above.
FORGE_HOST_DEVICE constexpr std::uint64_t digest_step(std::uint64_t h, std::uint64_t word) {
  const std::uint64_t mixed = (h ^ word) * 0xd6e8feb86659fd93u;
  return mixed ^ (mixed >> 32);
}

/// Two floats as one word.
FORGE_HOST_DEVICE inline std::uint64_t digest_word(float first, float second) {
  return numerics::bits_of(first) | static_cast<std::uint64_t>(numerics::bits_of(second)) << 32;
}

/// x[0] and x[1] as one word, in one load where that is how they lie in memory.
inline std::uint64_t word_at(const float* x) {
  std::uint64_t word;
  std::memcpy(&word, x, sizeof word);
  return std::endian::native == std::endian::little ? word : word << 32 | word >> 32;
}

inline std::uint64_t logits_digest(std::span<const float> x) {
  constexpr std::size_t kLaneCount = kDigestLanes;
  std::uint64_t lanes[kLaneCount];
  for (int j = 0; j < kDigestLanes; ++j) lanes[j] = digest_lane_start(j);

  std::size_t i = 0;
  for (; i + 2 * kLaneCount <= x.size(); i += 2 * kLaneCount) {
    for (std::size_t j = 0; j < kLaneCount; ++j) {
      lanes[j] = digest_step(lanes[j], word_at(&x[i + 2 * j]));
    }
  }
  for (std::size_t j = 0; i < x.size(); i += 2, ++j) {
    lanes[j] = digest_step(lanes[j], digest_word(x[i], i + 1 < x.size() ? x[i + 1] : 0.0F));
  }

  std::uint64_t digest = x.size();
  for (const std::uint64_t lane : lanes) digest = digest_step(digest, lane);
  return digest;
}

}  // namespace forge::executor
