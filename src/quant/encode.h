// Blocks from floats: the counterpart of decode() and the scale choices of quantize().
#pragma once

#include "forge/quant/block_formats.h"

namespace forge::quant {

/// x: [Block::kElements], finite.
void encode(const float* x, BlockQ80& block);
void encode(const float* x, BlockQ40& block);
void encode(const float* x, BlockQ50& block);
void encode(const float* x, BlockQ51& block);
void encode(const float* x, BlockQ4K& block);
void encode(const float* x, BlockQ5K& block);
void encode(const float* x, BlockQ6K& block);

}  // namespace forge::quant
