// The block formats of GGUF files, byte for byte, and what their numbers are.
//
// All are little-endian; d and m below are f16 (numerics/half.h). A number x of a block is
//
//          numbers   bytes   x =                       q             s, o
//   Q8_0        32      34   d * q                     -128 .. 127
//   Q4_0        32      18   d * (q - 8)                  0 .. 15
//   Q4_1        32      20   d * q + m                    0 .. 15
//   Q5_0        32      22   d * (q - 16)                 0 .. 31
//   Q5_1        32      24   d * q + m                    0 .. 31
//   Q2_K       256      84   (d * s) * q - (m * o)        0 .. 3     0 .. 15, of 16 numbers
//   Q3_K       256     110   (d * s) * (q - 4)            0 .. 7     -32 .. 31, of 16 numbers
//   Q4_K       256     144   (d * s) * q - (m * o)        0 .. 15    0 .. 63, of 32 numbers
//   Q5_K       256     176   (d * s) * q - (m * o)        0 .. 31    0 .. 63, of 32 numbers
//   Q6_K       256     210   (d * s) * (q - 32)           0 .. 63    -128 .. 127, of 16 numbers
//   IQ4_NL      32      18   d * t[q]                     0 .. 15
//   IQ4_XS     256     136   (d * s) * t[q]               0 .. 15    -32 .. 31, of 32 numbers
//   MXFP4       32      17   2^(e - 128) * f[q]           0 .. 15
//
// each operation rounded to float as written. That is the definition: decode() is it, one number at
// a time, and everything faster is tested against decode(). t and f are tables of whole numbers
// below. The names and layouts are ggml's (https://github.com/ggml-org/ggml, docs/gguf.md and
// ggml-common.h; k-quants: llama.cpp pull request 1684, IQ4: 5590 and 5747). MXFP4 is that of the
// OCP Microscaling Formats (MX) Specification 1.0: e is an E8M0, which 255 makes a NaN; ggml takes
// that for 2^127.
//
// Pure, thread-safe.
#pragma once

#include <cstdint>

#include "forge/numerics/half.h"

namespace forge::quant {

struct BlockQ80 {
  static constexpr int kElements = 32;
  numerics::F16 d;
  std::int8_t codes[32];
};

/// Code i is the low nibble of byte i, code 16 + i the high one.
struct BlockQ40 {
  static constexpr int kElements = 32;
  numerics::F16 d;
  std::uint8_t codes[16];
};

/// Codes as in Q4_0, with the smallest number m in place of an offset of the codes.
struct BlockQ41 {
  static constexpr int kElements = 32;
  numerics::F16 d;
  numerics::F16 m;
  std::uint8_t codes[16];
};

/// Codes as in Q4_0; bit i % 8 of high[i / 8] is the fifth bit of number i.
struct BlockQ50 {
  static constexpr int kElements = 32;
  numerics::F16 d;
  std::uint8_t high[4];
  std::uint8_t codes[16];
};

/// Codes as in Q5_0, with the smallest number m in place of an offset of the codes.
struct BlockQ51 {
  static constexpr int kElements = 32;
  numerics::F16 d;
  numerics::F16 m;
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
  numerics::F16 d;
  numerics::F16 m;
  GroupScales groups;
  std::uint8_t codes[128];
};

/// Codes as in Q4_K; bit g of high[i] is the fifth bit of number i of group g.
struct BlockQ5K {
  static constexpr int kElements = 256;
  numerics::F16 d;
  numerics::F16 m;
  GroupScales groups;
  std::uint8_t high[32];
  std::uint8_t codes[128];
};

/// Of group g, 16 numbers: s the low nibble of scales[g], o the high one. 32 bytes of codes for
/// each 128 numbers: number 32 k + i is bits 2 k, 2 k + 1 of byte i.
struct BlockQ2K {
  static constexpr int kElements = 256;
  std::uint8_t scales[16];
  std::uint8_t codes[64];
  numerics::F16 d;
  numerics::F16 m;
};

/// The lower two bits of codes as in Q2_K; bit g of high[i] is the third bit of number 32 g + i.
struct BlockQ3K {
  static constexpr int kElements = 256;
  std::uint8_t high[32];
  std::uint8_t codes[64];
  /// s + 32 of the 16 groups, 6 bits each: the low four of group g are nibble g / 8 of byte g % 8,
  /// the upper two bits 2 (g / 4), 2 (g / 4) + 1 of byte 8 + g % 4.
  std::uint8_t scales[12];
  numerics::F16 d;

  int scale(int group) const;  ///< s
};

/// 64 bytes of low nibbles and 32 bytes of upper bits for each 128 numbers: number 32 k + i has its
/// low four bits in nibble k / 2 of low[32 (k % 2) + i], and its upper two in bits 2 k, 2 k + 1 of
/// high[i].
struct BlockQ6K {
  static constexpr int kElements = 256;
  std::uint8_t low[128];
  std::uint8_t high[64];
  std::int8_t scales[16];
  numerics::F16 d;
};

/// t: what the codes of IQ4_NL and IQ4_XS stand for, closer together near 0, as weights are.
inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

/// Codes as in Q4_0.
struct BlockIQ4NL {
  static constexpr int kElements = 32;
  numerics::F16 d;
  std::uint8_t codes[16];
};

/// 16 bytes of codes, as in Q4_0, for each group of 32 numbers.
struct BlockIQ4XS {
  static constexpr int kElements = 256;
  numerics::F16 d;
  std::uint8_t scales_high[2];  ///< bits 2 g, 2 g + 1 of the two: the upper bits of s + 32
  std::uint8_t scales_low[4];   ///< nibble g % 2 of byte g / 2: its low four bits
  std::uint8_t codes[128];

  int scale(int group) const;  ///< s
};

/// A power of two in 8 bits, the type of the scales of MX: 2^(bits - 127), or 255 for a NaN.
struct E8M0 {
  std::uint8_t bits = 0;
};

/// 2^(bits - 128), half of what x is; or NaN.
float half_of(E8M0 x);

/// f: twice the numbers of E2M1 (FP4), which are 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
inline constexpr std::int8_t kFp4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                               0, -1, -2, -3, -4, -6, -8, -12};

/// Codes as in Q4_0.
struct BlockMXFP4 {
  static constexpr int kElements = 32;
  E8M0 e;
  std::uint8_t codes[16];
};

static_assert(sizeof(BlockQ80) == 34 && sizeof(BlockQ40) == 18 && sizeof(BlockQ41) == 20 &&
              sizeof(BlockQ50) == 22 && sizeof(BlockQ51) == 24 && sizeof(BlockQ2K) == 84 &&
              sizeof(BlockQ3K) == 110 && sizeof(BlockQ4K) == 144 && sizeof(BlockQ5K) == 176 &&
              sizeof(BlockQ6K) == 210 && sizeof(BlockIQ4NL) == 18 && sizeof(BlockIQ4XS) == 136 &&
              sizeof(BlockMXFP4) == 17);

/// Number `index` of a block. Requires: 0 <= index < kElements.
float decode(const BlockQ80& block, int index);
float decode(const BlockQ40& block, int index);
float decode(const BlockQ41& block, int index);
float decode(const BlockQ50& block, int index);
float decode(const BlockQ51& block, int index);
float decode(const BlockQ2K& block, int index);
float decode(const BlockQ3K& block, int index);
float decode(const BlockQ4K& block, int index);
float decode(const BlockQ5K& block, int index);
float decode(const BlockQ6K& block, int index);
float decode(const BlockIQ4NL& block, int index);
float decode(const BlockIQ4XS& block, int index);
float decode(const BlockMXFP4& block, int index);

}  // namespace forge::quant
