// A block of a file, made of its parts, and the numbers that it turns into.
//
// A case gives bytes as digits of base 16; those that it leaves out are 0. Scales that it leaves
// out are 1.
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "answering.h"
#include "forge/numerics/half.h"
#include "forge/quant/block_formats.h"
#include "forge/quant/dequantize.h"

namespace forge::labs {
namespace {

using quant::WeightType;

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  throw std::invalid_argument("not a digit of base 16");
}

template <class Byte, std::size_t kCount>
void read_bytes(const Json& input, const char* name, Byte (&to)[kCount]) {
  const std::string digits = input.value(name, "");
  if (digits.size() > 2 * kCount) throw std::invalid_argument("too many bytes");
  for (std::size_t i = 0; i < kCount; ++i) to[i] = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    to[i / 2] = static_cast<Byte>(to[i / 2] | digit(digits[i]) << (i % 2 == 0 ? 4 : 0));
  }
}

numerics::F16 half(const Json& input, const char* name) {
  return numerics::to_f16(input.value(name, 0.0F));
}

/// Number `index` of a list of small numbers.
int small_number(const Json& input, const char* name, std::size_t index, int otherwise) {
  const auto numbers = input.value(name, std::vector<int>{});
  return index < numbers.size() ? numbers[index] : otherwise;
}

int scale_of(const Json& input, std::size_t group) {
  const int scale = small_number(input, "scales", group, 1);
  if (scale == 0) throw std::invalid_argument("a scale of 0");
  return scale;
}

/// Eight scales and eight offsets in the 12 bytes of the header's table.
quant::GroupScales group_scales(const Json& input) {
  quant::GroupScales packed{};
  for (std::size_t g = 0; g < 4; ++g) {
    const int scales[] = {scale_of(input, g), scale_of(input, g + 4)};
    const int offsets[] = {small_number(input, "offsets", g, 0),
                           small_number(input, "offsets", g + 4, 0)};
    packed.bytes[g] = static_cast<std::uint8_t>((scales[0] & 63) | (scales[1] >> 4 & 3) << 6);
    packed.bytes[4 + g] = static_cast<std::uint8_t>((offsets[0] & 63) | (offsets[1] >> 4 & 3) << 6);
    packed.bytes[8 + g] = static_cast<std::uint8_t>((scales[1] & 15) | (offsets[1] & 15) << 4);
  }
  return packed;
}

/// The numbers of a block, one a line. %.9g tells any two floats apart.
template <class Block>
Json numbers(WeightType type, const Block& block) {
  std::byte stored[sizeof block];
  std::memcpy(stored, &block, sizeof block);
  float out[Block::kElements];
  for (float& x : out) x = std::numeric_limits<float>::quiet_NaN();
  dequantize(type, stored, Block::kElements, out);
  Json answer = Json::array();
  for (int i = 0; i < Block::kElements; ++i) {
    char line[48];
    std::snprintf(line, sizeof line, "number %d: %.9g", i, static_cast<double>(out[i]));
    answer.push_back(line);
  }
  return answer;
}

Json q4_0(const Json& input) {
  quant::BlockQ40 block{.d = half(input, "d"), .codes = {}};
  read_bytes(input, "codes", block.codes);
  return numbers(WeightType::q4_0, block);
}

/// Q5_0, and Q5_1 if there is an m.
Json codes(const Json& input) {
  if (!input.contains("m")) {
    quant::BlockQ50 block{.d = half(input, "d"), .high = {}, .codes = {}};
    read_bytes(input, "high", block.high);
    read_bytes(input, "codes", block.codes);
    return numbers(WeightType::q5_0, block);
  }
  quant::BlockQ51 block{.d = half(input, "d"), .m = half(input, "m"), .high = {}, .codes = {}};
  read_bytes(input, "high", block.high);
  read_bytes(input, "codes", block.codes);
  return numbers(WeightType::q5_1, block);
}

Json q4_k(const Json& input) {
  quant::BlockQ4K block{
      .d = half(input, "d"), .m = half(input, "m"), .groups = group_scales(input), .codes = {}};
  read_bytes(input, "codes", block.codes);
  return numbers(WeightType::q4_k, block);
}

Json q6_k(const Json& input) {
  quant::BlockQ6K block{.low = {}, .high = {}, .scales = {}, .d = half(input, "d")};
  read_bytes(input, "low", block.low);
  read_bytes(input, "high", block.high);
  for (std::size_t g = 0; g < 16; ++g) {
    block.scales[g] = static_cast<std::int8_t>(scale_of(input, g));
  }
  return numbers(WeightType::q6_k, block);
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"unpack_q4_0", q4_0},
          {"unpack_codes", codes},
          {"unpack_q4_k", q4_k},
          {"unpack_quarter", q6_k}};
}

}  // namespace forge::labs
