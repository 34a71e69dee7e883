// The panels of codes that products and embeddings read (linear/code_layout.h), kind by kind: what
// a lane, which has an output, finds in a group of 32 inputs.
//
//   kind                  codes of            a number is
//   q8_0 int8             8 bits, signed      step * c
//   q4_0 int4 q5_0        4 or 5 bits         step * (c - offset)
//   q5_1 q4_k q5_k        4 or 5 bits         step * c + minus_minimum
//   table4                4 bits              step * table[c]
//   q3_k q6_k             3 or 6 bits         step * half_scales[h] * (c - offset)
//   q2_k                  2 bits              step * half_scales[h] * c
//                                             + minus_minimum * half_mins[h]
//
// h is the half of the group in which the input is. All loads of a lane are words, halves or bytes
// beside those of its neighbours: 128, 64 or 32 consecutive bytes a warp.
#pragma once

#include "forge/linear/code_layout.h"
#include "forge/simt/dialect.h"
#include "widen.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// A group of one output.
struct GroupCodes {
  std::uint32_t words[linear::codes::kQuads];  ///< c, four signed bytes a word
  float step;
  float minus_minimum = 0.0f;  ///< of kinds with minima
  std::int32_t offset = 0;
  std::int32_t half_scales[2] = {1, 1};
  std::int32_t half_mins[2] = {1, 1};
};

/// Codes of 8 bits lie there plus 128.
FORGE_DEVICE std::uint32_t without_128(std::uint32_t word) { return word ^ 0x80808080u; }

FORGE_DEVICE float half_at(const numerics::F16* numbers, int output) {
  const numerics::F16 number = global(numbers)[output];
  return widened_f16(number.bits);
}

template <class Byte>
FORGE_DEVICE std::int32_t byte_at(const Byte* numbers, int output) {
  const Byte number = global(numbers)[output];
  return number;
}

/// Quads 0 .. 7 from four words of nibbles.
FORGE_DEVICE void read_pairs(const std::uint32_t (*pairs)[linear::kPanelOutputs], int output,
                             std::uint32_t (&words)[8]) {
  for (int j = 0; j < 4; ++j) {
    const std::uint32_t pair = global(pairs[j])[output];
    words[j] = pair & 0x0f0f0f0fu;
    words[4 + j] = pair >> 4 & 0x0f0f0f0fu;
  }
}

/// Quads 0 .. 7 of lower pairs of bits.
FORGE_DEVICE void read_lows(const std::uint32_t (*lows)[linear::kPanelOutputs], int output,
                            std::uint32_t (&words)[8]) {
  for (int j = 0; j < 2; ++j) {
    const std::uint32_t word = global(lows[j])[output];
    for (int i = 0; i < 4; ++i) words[4 * j + i] = word >> (2 * i) & 0x03030303u;
  }
}

/// One more bit a code, bit `place` of it.
FORGE_DEVICE void add_bits(const std::uint32_t* bits, int output, int place,
                           std::uint32_t (&words)[8]) {
  const std::uint32_t word = global(bits)[output];
  for (int q = 0; q < 8; ++q) words[q] |= (word >> q & 0x01010101u) << place;
}

/// Two more, bits 4 and 5.
FORGE_DEVICE void add_uppers(const std::uint32_t (*uppers)[linear::kPanelOutputs], int output,
                             std::uint32_t (&words)[8]) {
  for (int j = 0; j < 2; ++j) {
    const std::uint32_t word = global(uppers[j])[output];
    for (int i = 0; i < 4; ++i) words[4 * j + i] |= (word >> (2 * i) & 0x03030303u) << 4;
  }
}

/// The numbers that codes of 4 bits stand for, each plus 128, from the head of a panel.
struct CodeTable {
  std::uint64_t low = 0;   ///< of codes 0 .. 7
  std::uint64_t high = 0;  ///< of codes 8 .. 15

  static FORGE_DEVICE CodeTable of(const linear::codes::TableHead* head) {
    const auto words = global(reinterpret_cast<const std::uint32_t*>(head->numbers));
    std::uint32_t parts[4];
    for (int i = 0; i < 4; ++i) parts[i] = words[i];
    return {parts[0] | std::uint64_t{parts[1]} << 32, parts[2] | std::uint64_t{parts[3]} << 32};
  }

  FORGE_DEVICE std::uint32_t of_codes(std::uint32_t word) const {
    std::uint32_t numbers = 0;
    for (int shift = 0; shift < 32; shift += 8) {
      const std::uint32_t code = word >> shift & 15u;
      const std::uint64_t half = code < 8 ? low : high;
      numbers |= (static_cast<std::uint32_t>(half >> (8 * (code & 7u))) & 255u) << shift;
    }
    return numbers;
  }
};

/// The struct of group `group`, or of its block of eight groups.
template <class Struct>
FORGE_DEVICE const Struct* struct_at(const std::byte* panel, int index) {
  return reinterpret_cast<const Struct*>(panel) + index;
}

FORGE_DEVICE void read_q8_0(const std::byte* panel, int group, int output, GroupCodes& out) {
  const auto* const from = struct_at<linear::codes::Q80Group>(panel, group);
  for (int q = 0; q < 8; ++q) {
    const std::uint32_t word = global(from->quads[q])[output];
    out.words[q] = without_128(word);
  }
  out.step = half_at(from->scales, output);
}

FORGE_DEVICE void read_int8(const std::byte* panel, int group, int output, GroupCodes& out) {
  using linear::codes::Int8Head;
  const auto* const from = struct_at<linear::codes::Int8Group>(panel + sizeof(Int8Head), group);
  for (int q = 0; q < 8; ++q) {
    const std::uint32_t word = global(from->quads[q])[output];
    out.words[q] = without_128(word);
  }
  out.step = global(struct_at<Int8Head>(panel, 0)->scales)[output];
}

FORGE_DEVICE void read_q4_0(const std::byte* panel, int group, int output, GroupCodes& out) {
  const auto* const from = struct_at<linear::codes::Q40Group>(panel, group);
  read_pairs(from->pairs, output, out.words);
  out.step = half_at(from->scales, output);
  out.offset = 8;
}

FORGE_DEVICE void read_int4(const std::byte* panel, int group, int output, GroupCodes& out) {
  const auto* const from = struct_at<linear::codes::Int4Group>(panel, group);
  read_pairs(from->pairs, output, out.words);
  out.step = half_at(from->scales, output);
  out.offset = byte_at(from->zeros, output);
}

FORGE_DEVICE void read_q5_0(const std::byte* panel, int group, int output, GroupCodes& out) {
  const auto* const from = struct_at<linear::codes::Q50Group>(panel, group);
  read_pairs(from->pairs, output, out.words);
  add_bits(from->fifth, output, 4, out.words);
  out.step = half_at(from->scales, output);
  out.offset = 16;
}

FORGE_DEVICE void read_q5_1(const std::byte* panel, int group, int output, GroupCodes& out) {
  const auto* const from = struct_at<linear::codes::Q51Group>(panel, group);
  read_pairs(from->pairs, output, out.words);
  add_bits(from->fifth, output, 4, out.words);
  out.step = half_at(from->scales, output);
  out.minus_minimum = half_at(from->smallest, output);
}

FORGE_DEVICE void read_table4(const std::byte* panel, int group, int output, GroupCodes& out) {
  using linear::codes::TableHead;
  const CodeTable table = CodeTable::of(struct_at<TableHead>(panel, 0));
  const auto* const from = struct_at<linear::codes::TableGroup>(panel + sizeof(TableHead), group);
  read_pairs(from->pairs, output, out.words);
  for (std::uint32_t& word : out.words) word = without_128(table.of_codes(word));
  out.step = global(from->scales)[output];
}

/// Step and minimum of kinds whose groups have a scale and an offset each.
template <class Block>
FORGE_DEVICE void read_affine(const Block* block, int group, int output, GroupCodes& out) {
  const auto& from = block->groups[group % linear::codes::kBlockGroups];
  const auto scale = static_cast<float>(byte_at(from.scales, output));
  const auto minimum = static_cast<float>(byte_at(from.mins, output));
  out.step = half_at(block->d, output) * scale;
  out.minus_minimum = -(half_at(block->m, output) * minimum);
}

FORGE_DEVICE void read_q4_k(const std::byte* panel, int group, int output, GroupCodes& out) {
  using namespace linear::codes;
  const auto* const block = struct_at<Q4KBlock>(panel, group / kBlockGroups);
  read_pairs(block->groups[group % kBlockGroups].pairs, output, out.words);
  read_affine(block, group, output, out);
}

FORGE_DEVICE void read_q5_k(const std::byte* panel, int group, int output, GroupCodes& out) {
  using namespace linear::codes;
  const auto* const block = struct_at<Q5KBlock>(panel, group / kBlockGroups);
  const Q5KBlock::Group& from = block->groups[group % kBlockGroups];
  read_pairs(from.pairs, output, out.words);
  add_bits(from.fifth, output, 4, out.words);
  read_affine(block, group, output, out);
}

FORGE_DEVICE void read_q2_k(const std::byte* panel, int group, int output, GroupCodes& out) {
  using namespace linear::codes;
  const auto* const block = struct_at<Q2KBlock>(panel, group / kBlockGroups);
  const Q2KBlock::Group& from = block->groups[group % kBlockGroups];
  read_lows(from.lows, output, out.words);
  out.step = half_at(block->d, output);
  out.minus_minimum = -half_at(block->m, output);
  for (int half = 0; half < 2; ++half) {
    const std::int32_t both = byte_at(from.scales[half], output);
    out.half_scales[half] = both & 15;
    out.half_mins[half] = both >> 4;
  }
}

FORGE_DEVICE void read_q3_k(const std::byte* panel, int group, int output, GroupCodes& out) {
  using namespace linear::codes;
  const auto* const block = struct_at<Q3KBlock>(panel, group / kBlockGroups);
  const Q3KBlock::Group& from = block->groups[group % kBlockGroups];
  read_lows(from.lows, output, out.words);
  add_bits(from.third, output, 2, out.words);
  out.step = half_at(block->d, output);
  out.offset = 4;
  for (int half = 0; half < 2; ++half) out.half_scales[half] = byte_at(from.scales[half], output);
}

FORGE_DEVICE void read_q6_k(const std::byte* panel, int group, int output, GroupCodes& out) {
  using namespace linear::codes;
  const auto* const block = struct_at<Q6KBlock>(panel, group / kBlockGroups);
  const Q6KBlock::Group& from = block->groups[group % kBlockGroups];
  read_pairs(from.pairs, output, out.words);
  add_uppers(from.uppers, output, out.words);
  out.step = half_at(block->d, output);
  out.offset = 32;
  for (int half = 0; half < 2; ++half) out.half_scales[half] = byte_at(from.scales[half], output);
}

/// Group `group` of output `output` of the panel, which has codes.
FORGE_DEVICE void read_group(linear::PanelKind kind, const std::byte* panel, int group, int output,
                             GroupCodes& out) {
  using Kind = linear::PanelKind;
  switch (kind) {
    case Kind::q8_0:
      return read_q8_0(panel, group, output, out);
    case Kind::int8:
      return read_int8(panel, group, output, out);
    case Kind::q4_0:
      return read_q4_0(panel, group, output, out);
    case Kind::int4:
      return read_int4(panel, group, output, out);
    case Kind::q5_0:
      return read_q5_0(panel, group, output, out);
    case Kind::q5_1:
      return read_q5_1(panel, group, output, out);
    case Kind::q4_k:
      return read_q4_k(panel, group, output, out);
    case Kind::q5_k:
      return read_q5_k(panel, group, output, out);
    case Kind::q6_k:
      return read_q6_k(panel, group, output, out);
    case Kind::table4:
      return read_table4(panel, group, output, out);
    case Kind::q2_k:
      return read_q2_k(panel, group, output, out);
    case Kind::q3_k:
      return read_q3_k(panel, group, output, out);
    default:
      return;  // floats
  }
}

}  // namespace FORGE_KERNELS
