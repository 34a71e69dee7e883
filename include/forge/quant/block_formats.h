// The block formats of GGUF files, byte for byte, and what their numbers are.
//
// All are little-endian; d and m below are f16 (half.h). A number x of a block is
//
//          numbers   bytes   x =                       q             s, o
//   Q8_0        32      34   d * q                     -128 .. 127
//   Q4_0        32      18   d * (q - 8)                  0 .. 15
//   Q5_0        32      22   d * (q - 16)                 0 .. 31
//   Q5_1        32      24   d * q + m                    0 .. 31
//   Q4_K       256     144   (d * s) * q - (m * o)        0 .. 15    0 .. 63, of 32 numbers
//   Q5_K       256     176   (d * s) * q - (m * o)        0 .. 31    0 .. 63, of 32 numbers
//   Q6_K       256     210   (d * s) * (q - 32)           0 .. 63    -128 .. 127, of 16 numbers
//
// each operation rounded to float as written. That is the definition: decode() is it, one number at
// a time, and everything faster is tested against decode(). The names and layouts are ggml's
// (https://github.com/ggml-org/ggml, docs/gguf.md; k-quants: llama.cpp pull request 1684).
//
// Pure, thread-safe.
#pragma once

#include <cstdint>

#include "forge/quant/half.h"

namespace forge::quant {

struct BlockQ80 {
  static constexpr int kElements = 32;
  F16 d;
  std::int8_t codes[32];
};

/// Code i is the low nibble of byte i, code 16 + i the high one.
struct BlockQ40 {
  static constexpr int kElements = 32;
  F16 d;
  std::uint8_t codes[16];
};

/// Codes as in Q4_0; bit i % 8 of high[i / 8] is the fifth bit of number i.
struct BlockQ50 {
  static constexpr int kElements = 32;
  F16 d;
  std::uint8_t high[4];
  std::uint8_t codes[16];
};

/// Codes as in Q5_0, with the smallest number m in place of an offset of the codes.
struct BlockQ51 {
  static constexpr int kElements = 32;
  F16 d;
  F16 m;
  std::uint8_t high[4];
  std::uint8_t codes[16];
};

/// Scales and offsets of the eight groups of 32 numbers of a Q4_K or Q5_K block, 6 bits each:
///
///   byte        bits 0-5              bits 6-7
///   0 .. 3      s of groups 0 .. 3    upper 2 bits of s of groups 4 .. 7
///   4 .. 7      o of groups 0 .. 3    upper 2 bits of o of groups 4 .. 7
///   8 .. 11     low nibble: lower 4 bits of s of groups 4 .. 7, high nibble: those of o
struct GroupScales {
  std::uint8_t bytes[12];

  int scale(int group) const;   ///< 0 .. 63
  int offset(int group) const;  ///< 0 .. 63
};

/// 32 bytes for each 64 numbers: number i is the low nibble of byte i, number 32 + i the high one.
struct BlockQ4K {
  static constexpr int kElements = 256;
  F16 d;
  F16 m;
  GroupScales groups;
  std::uint8_t codes[128];
};

/// Codes as in Q4_K; bit g of high[i] is the fifth bit of number i of group g.
struct BlockQ5K {
  static constexpr int kElements = 256;
  F16 d;
  F16 m;
  GroupScales groups;
  std::uint8_t high[32];
  std::uint8_t codes[128];
};

/// 64 bytes of low nibbles and 32 bytes of upper bits for each 128 numbers: number 32 k + i has its
/// low four bits in nibble k / 2 of low[32 (k % 2) + i], and its upper two in bits 2 k, 2 k + 1 of
/// high[i].
struct BlockQ6K {
  static constexpr int kElements = 256;
  std::uint8_t low[128];
  std::uint8_t high[64];
  std::int8_t scales[16];
  F16 d;
};

static_assert(sizeof(BlockQ80) == 34 && sizeof(BlockQ40) == 18 && sizeof(BlockQ50) == 22 &&
              sizeof(BlockQ51) == 24 && sizeof(BlockQ4K) == 144 && sizeof(BlockQ5K) == 176 &&
              sizeof(BlockQ6K) == 210);

/// Number `index` of a block. Requires: 0 <= index < kElements.
float decode(const BlockQ80& block, int index);
float decode(const BlockQ40& block, int index);
float decode(const BlockQ50& block, int index);
float decode(const BlockQ51& block, int index);
float decode(const BlockQ4K& block, int index);
float decode(const BlockQ5K& block, int index);
float decode(const BlockQ6K& block, int index);

}  // namespace forge::quant
