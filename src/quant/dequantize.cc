#include "forge/quant/dequantize.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "forge/core/check.h"
#include "forge/numerics/half.h"
#include "forge/quant/block_formats.h"

// Each inner loop does the same to 16, 32 or more consecutive numbers, without a branch, which is
// the form that compilers turn into vector code. The operations on a number are those of decode().
namespace forge::quant {
namespace {

static_assert(std::endian::native == std::endian::little, "stored numbers are read as they lie");

void unpack(const BlockQ80& block, float* out) {
  const float d = to_float(block.d);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(block.codes[i]);
}

void unpack(const BlockQ40& block, float* out) {
  const float d = to_float(block.d);
  for (int i = 0; i < 16; ++i) out[i] = d * static_cast<float>((block.codes[i] & 15) - 8);
  for (int i = 0; i < 16; ++i) out[16 + i] = d * static_cast<float>((block.codes[i] >> 4) - 8);
}

void unpack(const BlockQ41& block, float* out) {
  const float d = to_float(block.d);
  const float m = to_float(block.m);
  for (int i = 0; i < 16; ++i) out[i] = d * static_cast<float>(block.codes[i] & 15) + m;
  for (int i = 0; i < 16; ++i) out[16 + i] = d * static_cast<float>(block.codes[i] >> 4) + m;
}

/// The codes of a Q5_0 or Q5_1 block, one a byte.
template <class Block>
void unpack_codes(const Block& block, std::uint8_t (&codes)[32]) {
  std::uint32_t high;
  std::memcpy(&high, block.high, sizeof high);
  for (std::uint32_t i = 0; i < 16; ++i) {
    const std::uint32_t pair = block.codes[i];
    codes[i] = static_cast<std::uint8_t>((pair & 15) | (high >> i & 1) << 4);
    codes[16 + i] = static_cast<std::uint8_t>(pair >> 4 | (high >> (16 + i) & 1) << 4);
  }
}

void unpack(const BlockQ50& block, float* out) {
  std::uint8_t codes[32];
  unpack_codes(block, codes);
  const float d = to_float(block.d);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(codes[i] - 16);
}

void unpack(const BlockQ51& block, float* out) {
  std::uint8_t codes[32];
  unpack_codes(block, codes);
  const float d = to_float(block.d);
  const float m = to_float(block.m);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(codes[i]) + m;
}

void unpack(const BlockQ2K& block, float* out) {
  const float d = to_float(block.d);
  const float m = to_float(block.m);
  for (int g = 0; g < 16; ++g, out += 16) {
    const std::uint8_t* const codes = block.codes + 32 * (g / 8) + 16 * (g % 2);
    const int shift = 2 * (g % 8 / 2);
    const float step = d * static_cast<float>(block.scales[g] & 15);
    const float offset = m * static_cast<float>(block.scales[g] >> 4);
    for (int i = 0; i < 16; ++i) {
      out[i] = step * static_cast<float>(codes[i] >> shift & 3) - offset;
    }
  }
}

void unpack(const BlockQ3K& block, float* out) {
  const float d = to_float(block.d);
  for (int g = 0; g < 16; ++g, out += 16) {
    const std::uint8_t* const codes = block.codes + 32 * (g / 8) + 16 * (g % 2);
    const std::uint8_t* const high = block.high + 16 * (g % 2);
    const int shift = 2 * (g % 8 / 2);
    const float step = d * static_cast<float>(block.scale(g));
    for (int i = 0; i < 16; ++i) {
      const int code = (codes[i] >> shift & 3) | (high[i] >> (g / 2) & 1) << 2;
      out[i] = step * static_cast<float>(code - 4);
    }
  }
}

/// Of one group: x = step * q - offset.
struct GroupGrid {
  float step;
  float offset;
};

template <class Block>
GroupGrid grid_of(const Block& block, int g) {
  return {to_float(block.d) * static_cast<float>(block.groups.scale(g)),
          to_float(block.m) * static_cast<float>(block.groups.offset(g))};
}

void unpack(const BlockQ4K& block, float* out) {
  for (int g = 0; g < 8; g += 2, out += 64) {
    const std::uint8_t* codes = block.codes + 16 * g;
    const GroupGrid first = grid_of(block, g);
    const GroupGrid second = grid_of(block, g + 1);
    for (int i = 0; i < 32; ++i) {
      out[i] = first.step * static_cast<float>(codes[i] & 15) - first.offset;
    }
    for (int i = 0; i < 32; ++i) {
      out[32 + i] = second.step * static_cast<float>(codes[i] >> 4) - second.offset;
    }
  }
}

void unpack(const BlockQ5K& block, float* out) {
  for (int g = 0; g < 8; g += 2, out += 64) {
    const std::uint8_t* codes = block.codes + 16 * g;
    const GroupGrid first = grid_of(block, g);
    const GroupGrid second = grid_of(block, g + 1);
    for (int i = 0; i < 32; ++i) {
      const int code = (codes[i] & 15) | (block.high[i] >> g & 1) << 4;
      out[i] = first.step * static_cast<float>(code) - first.offset;
    }
    for (int i = 0; i < 32; ++i) {
      const int code = codes[i] >> 4 | (block.high[i] >> (g + 1) & 1) << 4;
      out[32 + i] = second.step * static_cast<float>(code) - second.offset;
    }
  }
}

/// Numbers 32 k .. 32 k + 31 of 128, in two groups of 16.
void unpack_quarter(const std::uint8_t* low, const std::uint8_t* high, int k, const float* steps,
                    float* out) {
  const std::uint8_t* nibbles = low + 32 * (k % 2);
  for (int group = 0; group < 2; ++group) {
    const float step = steps[2 * k + group];
    for (int i = 16 * group; i < 16 * group + 16; ++i) {
      const int code = (nibbles[i] >> (4 * (k / 2)) & 15) | (high[i] >> (2 * k) & 3) << 4;
      out[32 * k + i] = step * static_cast<float>(code - 32);
    }
  }
}

void unpack(const BlockQ6K& block, float* out) {
  const float d = to_float(block.d);
  float steps[16];
  for (int g = 0; g < 16; ++g) steps[g] = d * static_cast<float>(block.scales[g]);
  for (int half = 0; half < 2; ++half) {
    for (int k = 0; k < 4; ++k) {
      unpack_quarter(block.low + 64 * half, block.high + 32 * half, k, steps + 8 * half,
                     out + 128 * half);
    }
  }
}

/// 32 numbers whose codes stand for those of a table.
void unpack_table(const std::uint8_t* codes, const std::int8_t (&table)[16], float step,
                  float* out) {
  for (int i = 0; i < 16; ++i) out[i] = step * static_cast<float>(table[codes[i] & 15]);
  for (int i = 0; i < 16; ++i) out[16 + i] = step * static_cast<float>(table[codes[i] >> 4]);
}

void unpack(const BlockIQ4NL& block, float* out) {
  unpack_table(block.codes, kIq4Values, to_float(block.d), out);
}

void unpack(const BlockIQ4XS& block, float* out) {
  const float d = to_float(block.d);
  for (int g = 0; g < 8; ++g) {
    unpack_table(block.codes + 16 * g, kIq4Values, d * static_cast<float>(block.scale(g)),
                 out + 32 * g);
  }
}

void unpack(const BlockMXFP4& block, float* out) {
  unpack_table(block.codes, kFp4Values, half_of(block.e), out);
}

/// The copy of a block is aligned, whatever the file is.
template <class Block>
void unpack_row(const std::byte* stored, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; i += Block::kElements, stored += sizeof(Block)) {
    Block block;
    std::memcpy(&block, stored, sizeof block);
    unpack(block, out + i);
  }
}

template <class Half>
void widen_row(const std::byte* stored, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) {
    Half half;
    std::memcpy(&half, stored + sizeof half * i, sizeof half);
    out[i] = to_float(half);
  }
}

}  // namespace

void dequantize(WeightType type, const std::byte* stored, std::size_t count, float* out) {
  FORGE_CHECK(count % block_elements(type) == 0, "count=", count, " type=", name_of(type));
  switch (type) {
    case WeightType::f32:
      if (count > 0) std::memcpy(out, stored, count * sizeof(float));
      return;
    case WeightType::f16:
      return widen_row<numerics::F16>(stored, count, out);
    case WeightType::bf16:
      return widen_row<numerics::BF16>(stored, count, out);
    case WeightType::i8:
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<float>(std::to_integer<std::int8_t>(stored[i]));
      }
      return;
    case WeightType::q8_0:
      return unpack_row<BlockQ80>(stored, count, out);
    case WeightType::q4_0:
      return unpack_row<BlockQ40>(stored, count, out);
    case WeightType::q5_0:
      return unpack_row<BlockQ50>(stored, count, out);
    case WeightType::q5_1:
      return unpack_row<BlockQ51>(stored, count, out);
    case WeightType::q4_k:
      return unpack_row<BlockQ4K>(stored, count, out);
    case WeightType::q5_k:
      return unpack_row<BlockQ5K>(stored, count, out);
    case WeightType::q6_k:
      return unpack_row<BlockQ6K>(stored, count, out);
    case WeightType::q4_1:
      return unpack_row<BlockQ41>(stored, count, out);
    case WeightType::q2_k:
      return unpack_row<BlockQ2K>(stored, count, out);
    case WeightType::q3_k:
      return unpack_row<BlockQ3K>(stored, count, out);
    case WeightType::iq4_nl:
      return unpack_row<BlockIQ4NL>(stored, count, out);
    case WeightType::iq4_xs:
      return unpack_row<BlockIQ4XS>(stored, count, out);
    case WeightType::mxfp4:
      return unpack_row<BlockMXFP4>(stored, count, out);
  }
}

}  // namespace forge::quant
