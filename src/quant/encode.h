// Blocks from floats: the counterpart of decode() and the scale choices of quantize().
#pragma once

#include <cstdint>

#include "forge/quant/block_formats.h"

namespace forge::quant {

/// The lower two bits of 256 codes, as Q2_K and Q3_K hold them.
inline void pack_two_bits(const std::uint8_t (&codes)[256], std::uint8_t (&packed)[64]) {
  for (int i = 0; i < 64; ++i) {
    const std::uint8_t* quad = codes + 128 * (i / 32) + i % 32;
    packed[i] = static_cast<std::uint8_t>((quad[0] & 3) | (quad[32] & 3) << 2 |
                                          (quad[64] & 3) << 4 | (quad[96] & 3) << 6);
  }
}

/// The numbers of a block, finite, and how much the error of each counts (grid_fit.h), or null.
struct Numbers {
  const float* x = nullptr;
  const float* importance = nullptr;

  /// Of numbers `first` and on.
  const float* importance_from(int first) const {
    return importance == nullptr ? nullptr : importance + first;
  }
};

void encode(Numbers from, BlockQ80& block);
void encode(Numbers from, BlockQ40& block);
void encode(Numbers from, BlockQ50& block);
void encode(Numbers from, BlockQ51& block);
void encode(Numbers from, BlockQ4K& block);
void encode(Numbers from, BlockQ5K& block);
void encode(Numbers from, BlockQ6K& block);
void encode(Numbers from, BlockQ41& block);
void encode(Numbers from, BlockQ2K& block);
void encode(Numbers from, BlockQ3K& block);
void encode(Numbers from, BlockIQ4NL& block);
void encode(Numbers from, BlockIQ4XS& block);
void encode(Numbers from, BlockMXFP4& block);

}  // namespace forge::quant
