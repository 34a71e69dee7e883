// logits_digest: 64 bits that stand for a row of logits, bit for bit.
//
// Digest (core/digest.h) takes a byte at a time, 8 multiplications a word, one after the
// other; a row of 320 logits would cost more than picking from it. Here eight lanes
// take a word of two floats each, side by side:
//
//   word[i]  = bits of x[2 i] | bits of x[2 i + 1] << 32, a missing float being 0
//   lane[j]  starts at 2^64 / golden ratio + j
//   lane[j]  = (lane[j] ^ word[i]) * m, then ^= itself >> 32,   for i = j, j + 8, ... ascending
//   digest   = Digest of the number of floats, then of lane[0] ... lane[7]
//
// with m = 0xd6e8feb86659fd93 (odd, so each step is a bijection: a single changed float
// always changes its lane). It detects differences; it does not resist an adversary.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "forge/core/digest.h"

namespace forge {

inline std::uint64_t logits_digest(std::span<const float> x) {
  constexpr std::size_t kLaneCount = 8;
  constexpr std::uint64_t kMultiplier = 0xd6e8feb86659fd93u;
  std::uint64_t lanes[kLaneCount];
  for (std::size_t j = 0; j < kLaneCount; ++j) lanes[j] = 0x9e3779b97f4a7c15u + j;

  const auto bits = [x](std::size_t i) -> std::uint64_t {
    return i < x.size() ? std::bit_cast<std::uint32_t>(x[i]) : 0;
  };
  const auto take = [&](std::size_t lane, std::uint64_t low, std::uint64_t high) {
    const std::uint64_t mixed = (lanes[lane] ^ (low | high << 32)) * kMultiplier;
    lanes[lane] = mixed ^ (mixed >> 32);
  };
  std::size_t i = 0;
  for (; i + 2 * kLaneCount <= x.size(); i += 2 * kLaneCount) {
    for (std::size_t j = 0; j < kLaneCount; ++j) {
      take(j, std::bit_cast<std::uint32_t>(x[i + 2 * j]),
           std::bit_cast<std::uint32_t>(x[i + 2 * j + 1]));
    }
  }
  for (std::size_t j = 0; i < x.size(); i += 2, ++j) take(j, bits(i), bits(i + 1));

  Digest digest;
  digest.add(x.size());
  for (const std::uint64_t lane : lanes) digest.add(lane);
  return digest.value();
}

}  // namespace forge
