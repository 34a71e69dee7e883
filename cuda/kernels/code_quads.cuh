// The codes of a group of 32 inputs of one output, two quads at a time (linear/code_layout.h):
// quads j and j + 4, j = 0 .. 3, which kinds of fewer than 8 bits keep in the same words.
//
// Whoever reads the output's word of each line of the group from somewhere passes `line`, a
// function of the line's index.
#pragma once

#include "forge/linear/code_layout.h"
#include "forge/simt/dialect.h"

namespace FORGE_KERNELS {
using namespace simt;

/// Quads j and j + 4: c, four signed bytes a word.
struct TwoQuads {
  std::uint32_t first;
  std::uint32_t second;
};

/// Codes of 8 bits lie there plus 128.
FORGE_DEVICE std::uint32_t without_128(std::uint32_t word) { return word ^ 0x80808080u; }

/// Each byte's two bits from bit `at` on.
FORGE_DEVICE std::uint32_t bit_pairs(std::uint32_t word, int at) {
  return word >> at & 0x03030303u;
}

/// Each byte's bit `at`.
FORGE_DEVICE std::uint32_t single_bits(std::uint32_t word, int at) {
  return word >> at & 0x01010101u;
}

/// The numbers that codes of 4 bits stand for, each plus 128, from the head of a panel.
struct CodeTable {
  std::uint64_t low = 0;   ///< of codes 0 .. 7
  std::uint64_t high = 0;  ///< of codes 8 .. 15

  /// words: those of linear::codes::TableHead.
  template <class Words>
  static FORGE_DEVICE CodeTable of(const Words& words) {
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

/// table: of kinds that have one.
template <linear::PanelKind kKind, class Line>
FORGE_DEVICE TwoQuads two_quads(const Line& line, int j, const CodeTable& table) {
  using Kind = linear::PanelKind;
  if constexpr (kKind == Kind::q8_0 || kKind == Kind::int8) {
    return {without_128(line(j)), without_128(line(j + 4))};
  } else if constexpr (kKind == Kind::q2_k || kKind == Kind::q3_k) {
    TwoQuads codes{bit_pairs(line(0), 2 * j), bit_pairs(line(1), 2 * j)};
    if constexpr (kKind == Kind::q3_k) {
      const std::uint32_t third = line(2);
      codes.first |= single_bits(third, j) << 2;
      codes.second |= single_bits(third, j + 4) << 2;
    }
    return codes;
  } else {
    const std::uint32_t pair = line(j);
    TwoQuads codes{pair & 0x0f0f0f0fu, pair >> 4 & 0x0f0f0f0fu};
    if constexpr (kKind == Kind::table4) {
      codes = {without_128(table.of_codes(codes.first)), without_128(table.of_codes(codes.second))};
    } else if constexpr (kKind == Kind::q6_k) {
      codes.first |= bit_pairs(line(4), 2 * j) << 4;
      codes.second |= bit_pairs(line(5), 2 * j) << 4;
    } else if constexpr (linear::codes::line_count(kKind) == 5) {
      const std::uint32_t fifth = line(4);
      codes.first |= single_bits(fifth, j) << 4;
      codes.second |= single_bits(fifth, j + 4) << 4;
    }
    return codes;
  }
}

}  // namespace FORGE_KERNELS
