#include "forge/quant/block_formats.h"

#include <bit>
#include <limits>

#include "forge/core/check.h"

namespace forge::quant {
namespace {

/// Half 0 is the low nibble, half 1 the high one.
int nibble(std::uint8_t byte, int half) { return byte >> (4 * half) & 15; }

/// Code of number i of group g, of the 128 bytes that Q4_K and Q5_K share.
int nibble_code(const std::uint8_t (&codes)[128], int g, int i) {
  return nibble(codes[32 * (g / 2) + i], g % 2);
}

/// Code i of the 32 that Q4_0 and others hold alike.
int short_code(const std::uint8_t* codes, int i) { return nibble(codes[i % 16], i / 16); }

/// The lower two bits of code `index` of the 256 that Q2_K and Q3_K hold alike.
int two_bits(const std::uint8_t (&codes)[64], int index) {
  return codes[32 * (index / 128) + index % 32] >> (2 * (index % 128 / 32)) & 3;
}

/// Code i of the 32 that Q5_0 and Q5_1 hold alike.
template <class Block>
int five_bits(const Block& block, int i) {
  return short_code(block.codes, i) | (block.high[i / 8] >> (i % 8) & 1) << 4;
}

float affine(numerics::F16 d, numerics::F16 m, const GroupScales& groups, int g, int code) {
  const float step = to_float(d) * static_cast<float>(groups.scale(g));
  const float offset = to_float(m) * static_cast<float>(groups.offset(g));
  return step * static_cast<float>(code) - offset;
}

template <class Block>
void check_index(const Block&, int index) {
  FORGE_CHECK(index >= 0 && index < Block::kElements, "index=", index);
}

}  // namespace

int GroupScales::scale(int group) const {
  if (group < 4) return bytes[group] & 63;
  return (bytes[group + 4] & 15) | (bytes[group - 4] >> 6) << 4;
}

int GroupScales::offset(int group) const {
  if (group < 4) return bytes[group + 4] & 63;
  return bytes[group + 4] >> 4 | (bytes[group] >> 6) << 4;
}

int BlockQ3K::scale(int group) const {
  const int low = nibble(scales[group % 8], group / 8);
  return (low | (scales[8 + group % 4] >> (2 * (group / 4)) & 3) << 4) - 32;
}

int BlockIQ4XS::scale(int group) const {
  const int low = nibble(scales_low[group / 2], group % 2);
  return (low | (scales_high[group / 4] >> (2 * (group % 4)) & 3) << 4) - 32;
}

float half_of(E8M0 x) {
  if (x.bits == 255) return std::numeric_limits<float>::quiet_NaN();
  const std::uint32_t exponent = x.bits;
  if (exponent < 2) return std::bit_cast<float>(0x00200000u << exponent);  // subnormal
  return std::bit_cast<float>((exponent - 1) << 23);
}

float decode(const BlockQ80& block, int index) {
  check_index(block, index);
  return to_float(block.d) * static_cast<float>(block.codes[index]);
}

float decode(const BlockQ40& block, int index) {
  check_index(block, index);
  const int code = short_code(block.codes, index);
  return to_float(block.d) * static_cast<float>(code - 8);
}

float decode(const BlockQ41& block, int index) {
  check_index(block, index);
  return to_float(block.d) * static_cast<float>(short_code(block.codes, index)) + to_float(block.m);
}

float decode(const BlockQ50& block, int index) {
  check_index(block, index);
  return to_float(block.d) * static_cast<float>(five_bits(block, index) - 16);
}

float decode(const BlockQ51& block, int index) {
  check_index(block, index);
  return to_float(block.d) * static_cast<float>(five_bits(block, index)) + to_float(block.m);
}

float decode(const BlockQ2K& block, int index) {
  check_index(block, index);
  const std::uint8_t scales = block.scales[index / 16];
  const float step = to_float(block.d) * static_cast<float>(scales & 15);
  const float offset = to_float(block.m) * static_cast<float>(scales >> 4);
  return step * static_cast<float>(two_bits(block.codes, index)) - offset;
}

float decode(const BlockQ3K& block, int index) {
  check_index(block, index);
  const int code = two_bits(block.codes, index) | (block.high[index % 32] >> (index / 32) & 1) << 2;
  const float step = to_float(block.d) * static_cast<float>(block.scale(index / 16));
  return step * static_cast<float>(code - 4);
}

float decode(const BlockQ4K& block, int index) {
  check_index(block, index);
  const int g = index / 32;
  return affine(block.d, block.m, block.groups, g, nibble_code(block.codes, g, index % 32));
}

float decode(const BlockQ5K& block, int index) {
  check_index(block, index);
  const int g = index / 32;
  const int i = index % 32;
  const int code = nibble_code(block.codes, g, i) | (block.high[i] >> g & 1) << 4;
  return affine(block.d, block.m, block.groups, g, code);
}

float decode(const BlockQ6K& block, int index) {
  check_index(block, index);
  const int half = index / 128;
  const int k = index % 128 / 32;
  const int i = index % 32;
  const int low = nibble(block.low[64 * half + 32 * (k % 2) + i], k / 2);
  const int code = low | (block.high[32 * half + i] >> (2 * k) & 3) << 4;
  const int g = index / 16;
  const float step = to_float(block.d) * static_cast<float>(block.scales[g]);
  return step * static_cast<float>(code - 32);
}

float decode(const BlockIQ4NL& block, int index) {
  check_index(block, index);
  return to_float(block.d) * static_cast<float>(kIq4Values[short_code(block.codes, index)]);
}

float decode(const BlockIQ4XS& block, int index) {
  check_index(block, index);
  const int g = index / 32;
  const int code = short_code(block.codes + 16 * g, index % 32);
  const float step = to_float(block.d) * static_cast<float>(block.scale(g));
  return step * static_cast<float>(kIq4Values[code]);
}

float decode(const BlockMXFP4& block, int index) {
  check_index(block, index);
  return half_of(block.e) * static_cast<float>(kFp4Values[short_code(block.codes, index)]);
}

}  // namespace forge::quant
