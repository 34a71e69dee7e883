// Stored rows for tests: random bytes, and rows whose scales are special.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "forge/numerics/philox.h"
#include "forge/quant/block_formats.h"
#include "forge/quant/weight_type.h"

namespace forge::quant {

inline constexpr WeightType kBlockTypes[] = {
    WeightType::q8_0,   WeightType::q4_0,   WeightType::q4_1, WeightType::q5_0, WeightType::q5_1,
    WeightType::q2_k,   WeightType::q3_k,   WeightType::q4_k, WeightType::q5_k, WeightType::q6_k,
    WeightType::iq4_nl, WeightType::iq4_xs, WeightType::mxfp4};

/// Those whose scales are f16, and not powers of two of 8 bits.
inline constexpr WeightType kF16BlockTypes[] = {
    WeightType::q8_0, WeightType::q4_0, WeightType::q4_1,   WeightType::q5_0,
    WeightType::q5_1, WeightType::q2_k, WeightType::q3_k,   WeightType::q4_k,
    WeightType::q5_k, WeightType::q6_k, WeightType::iq4_nl, WeightType::iq4_xs};

using Bytes = std::vector<std::byte>;

/// A pure function of the arguments.
inline Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  Bytes bytes(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(numerics::philox({{i / 4, 0, 0, 0}}, seed).x[i % 4]);
  }
  return bytes;
}

/// f16 values at which arithmetic changes: zeros, subnormals, the largest, infinities, NaNs.
inline constexpr std::uint16_t kSpecialScales[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00,
                                                   0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfc01};

/// Where the f16 scales of a block are, in bytes.
inline std::vector<std::size_t> places_of_scales(WeightType type) {
  switch (type) {
    case WeightType::q4_1:
    case WeightType::q5_1:
    case WeightType::q4_k:
    case WeightType::q5_k:
      return {0, 2};
    case WeightType::q2_k:
      return {offsetof(BlockQ2K, d), offsetof(BlockQ2K, m)};
    case WeightType::q3_k:
      return {offsetof(BlockQ3K, d)};
    case WeightType::q6_k:
      return {offsetof(BlockQ6K, d)};
    case WeightType::mxfp4:
      return {};
    default:
      return {0};
  }
}

}  // namespace forge::quant
