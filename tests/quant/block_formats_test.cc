#include "forge/quant/block_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace forge::quant {
namespace {

constexpr numerics::F16 kOne = {0x3c00};
constexpr numerics::F16 kHalf = {0x3800};

// Blocks with one number set apart, each in a place that the format's packing makes special.

TEST(BlockFormats, q8_0_is_a_scale_and_signed_bytes) {
  const BlockQ80 block = {.d = kHalf, .codes = {3, -128, 127}};
  EXPECT_EQ(decode(block, 0), 1.5F);
  EXPECT_EQ(decode(block, 1), -64.0F);
  EXPECT_EQ(decode(block, 2), 63.5F);
  EXPECT_EQ(decode(block, 31), 0.0F);
}

TEST(BlockFormats, q4_0_has_number_16_beside_number_0) {
  const BlockQ40 block = {.d = kHalf, .codes = {0xf0, 0x08}};
  EXPECT_EQ(decode(block, 0), -4.0F);   // 0 - 8, halved
  EXPECT_EQ(decode(block, 16), 3.5F);   // 15 - 8, halved
  EXPECT_EQ(decode(block, 1), 0.0F);    // 8 - 8
  EXPECT_EQ(decode(block, 17), -4.0F);  // 0 - 8
}

TEST(BlockFormats, q5_0_has_the_fifth_bits_of_all_numbers_in_four_bytes) {
  const BlockQ50 block = {.d = kHalf, .high = {0x02, 0, 0x01, 0x80}, .codes = {0xf0, 0x03}};
  EXPECT_EQ(decode(block, 0), -8.0F);                 // 0 - 16, halved
  EXPECT_EQ(decode(block, 16), 0.5F * (31 - 16));     // 15 and bit 0 of the third byte
  EXPECT_EQ(decode(block, 1), 0.5F * (16 + 3 - 16));  // 3 and bit 1 of the first byte
  EXPECT_EQ(decode(block, 31), 0.0F);                 // 0 and bit 7 of the last byte
}

TEST(BlockFormats, q5_1_counts_from_the_smallest_number) {
  const BlockQ51 block = {
      .d = kHalf, .m = {0xbc00}, .high = {0x02, 0, 0x01, 0}, .codes = {0xf0, 0x03}};
  EXPECT_EQ(decode(block, 0), -1.0F);
  EXPECT_EQ(decode(block, 16), 0.5F * 31 - 1);
  EXPECT_EQ(decode(block, 1), 0.5F * 19 - 1);
}

TEST(BlockFormats, group_scales_are_six_bits_each_in_twelve_bytes) {
  // Scales 1, 2, 3, 4, 45, 46, 47, 48 and offsets 11, 12, 13, 14, 55, 56, 57, 58, put by hand:
  // 45 = 2 * 16 + 13, 48 = 3 * 16 + 0, 55 = 3 * 16 + 7.
  const GroupScales groups = {{2 << 6 | 1, 2 << 6 | 2, 2 << 6 | 3, 3 << 6 | 4,      //
                               3 << 6 | 11, 3 << 6 | 12, 3 << 6 | 13, 3 << 6 | 14,  //
                               7 << 4 | 13, 8 << 4 | 14, 9 << 4 | 15, 10 << 4 | 0}};
  const int scales[8] = {1, 2, 3, 4, 45, 46, 47, 48};
  const int offsets[8] = {11, 12, 13, 14, 55, 56, 57, 58};
  for (int g = 0; g < 8; ++g) {
    EXPECT_EQ(groups.scale(g), scales[g]) << g;
    EXPECT_EQ(groups.offset(g), offsets[g]) << g;
  }
}

TEST(BlockFormats, q4_k_scales_and_shifts_each_group_of_32) {
  BlockQ4K block = {.d = kHalf, .m = kOne};
  block.groups.bytes[0] = 6;                      // scale of group 0
  block.groups.bytes[4] = 5;                      // offset of group 0
  block.groups.bytes[1] = 2;                      // scale of group 1
  block.codes[0] = 0x97;                          // numbers 0 and 32
  EXPECT_EQ(decode(block, 0), 0.5F * 6 * 7 - 5);  // 16
  EXPECT_EQ(decode(block, 32), 0.5F * 2 * 9);     // 9
  EXPECT_EQ(decode(block, 1), -5.0F);             // code 0
  block.codes[127] = 0x30;                        // numbers 223 and 255
  block.groups.bytes[11] = 0x1f;                  // group 7: scale 15, offset 1
  EXPECT_EQ(decode(block, 255), 0.5F * 15 * 3 - 1.0F);
  EXPECT_EQ(decode(block, 223), 0.0F);
}

TEST(BlockFormats, q5_k_has_a_fifth_bit_for_each_group_in_one_byte) {
  BlockQ5K block = {.d = kOne, .m = kOne};
  for (std::uint8_t& byte : block.groups.bytes) byte = 0x11;  // scales 17 and 1, see below
  block.high[3] = 1 << 6 | 1 << 1;
  block.codes[3] = 0x20;       // number 32 + 3: code 16 + 2
  block.codes[96 + 3] = 0x04;  // number 192 + 3: code 16 + 4
  EXPECT_EQ(block.groups.scale(1), 17);
  EXPECT_EQ(block.groups.offset(1), 17);
  EXPECT_EQ(decode(block, 35), 17.0F * 18 - 17);
  EXPECT_EQ(block.groups.scale(6), 1);
  EXPECT_EQ(decode(block, 195), 1.0F * 20 - 1);
  EXPECT_EQ(decode(block, 3), -17.0F);
}

TEST(BlockFormats, q6_k_has_four_low_and_two_high_bits_a_number) {
  BlockQ6K block = {.d = kHalf};
  for (int g = 0; g < 16; ++g) block.scales[g] = static_cast<std::int8_t>(g - 8);
  block.low[64 + 32 + 5] = 0x9c;         // second half: numbers 128 + 32 + 5 and 128 + 96 + 5
  block.high[32 + 5] = 3 << 2 | 1 << 6;  // their upper bits
  EXPECT_EQ(decode(block, 165), 0.5F * (165 / 16 - 8) * (3 * 16 + 12 - 32));
  EXPECT_EQ(decode(block, 229), 0.5F * (229 / 16 - 8) * (1 * 16 + 9 - 32));
  EXPECT_EQ(decode(block, 0), 0.5F * -8 * -32);  // a scale below 0
  block.scales[15] = -128;
  EXPECT_EQ(decode(block, 255), 0.5F * -128 * -32);
}

TEST(BlockFormats, q4_1_counts_from_the_smallest_number) {
  const BlockQ41 block = {.d = kHalf, .m = {0xbc00}, .codes = {0xf0, 0x03}};
  EXPECT_EQ(decode(block, 0), -1.0F);
  EXPECT_EQ(decode(block, 16), 0.5F * 15 - 1);
  EXPECT_EQ(decode(block, 1), 0.5F * 3 - 1);
}

TEST(BlockFormats, q2_k_scales_and_shifts_each_group_of_16) {
  BlockQ2K block = {.d = kHalf, .m = kOne};
  block.scales[0] = 0x56;       // step 3, offset 5
  block.scales[1] = 0x02;       // step 1
  block.scales[15] = 0x1f;      // step 7.5, offset 1
  block.codes[0] = 0x03;        // number 0
  block.codes[16] = 0x02;       // number 16
  block.codes[32 + 31] = 0x80;  // number 255
  EXPECT_EQ(decode(block, 0), 3.0F * 3 - 5);
  EXPECT_EQ(decode(block, 1), -5.0F);
  EXPECT_EQ(decode(block, 16), 2.0F);
  EXPECT_EQ(decode(block, 255), 7.5F * 2 - 1);
}

TEST(BlockFormats, q3_k_has_a_third_bit_for_each_group_of_32_in_one_byte) {
  BlockQ3K block = {.d = kHalf};
  // Scales of groups 0, 5, 10 and 15: 3, -32, 31 and 1, plus 32.
  block.scales[0] = 3;            // low bits of groups 0 and 8
  block.scales[2] = 0xf0;         // of groups 2 and 10
  block.scales[7] = 0x10;         // of groups 7 and 15
  block.scales[8] = 2;            // upper bits of groups 0, 4, 8, 12
  block.scales[10] = 3 << 4;      // of groups 2, 6, 10, 14
  block.scales[11] = 2 << 6;      // of groups 3, 7, 11, 15
  block.codes[0] = 0x01;          // number 0
  block.codes[32 + 31] = 3 << 6;  // number 255
  block.high[31] = 1 << 7;
  EXPECT_EQ(block.scale(0), 3);
  EXPECT_EQ(block.scale(5), -32);
  EXPECT_EQ(block.scale(10), 31);
  EXPECT_EQ(block.scale(15), 1);
  EXPECT_EQ(decode(block, 0), 1.5F * (1 - 4));
  EXPECT_EQ(decode(block, 255), 0.5F * (7 - 4));
  EXPECT_EQ(decode(block, 160), 0.5F * 31 * -4);
}

TEST(BlockFormats, iq4_nl_has_codes_for_the_numbers_of_a_table) {
  const BlockIQ4NL block = {.d = kHalf, .codes = {0xf0, 0x08}};
  EXPECT_EQ(decode(block, 0), -63.5F);
  EXPECT_EQ(decode(block, 16), 56.5F);
  EXPECT_EQ(decode(block, 1), 0.5F);
}

TEST(BlockFormats, iq4_xs_has_a_scale_of_six_bits_for_each_group_of_32) {
  BlockIQ4XS block = {.d = kHalf};
  block.scales_low[0] = 0x02;       // group 0: 2 - 32
  block.scales_low[3] = 0xf0;       // group 7: 63 - 32
  block.scales_high[1] = 3 << 6;    // its upper bits
  block.codes[16 * 7 + 15] = 0xf0;  // number 255, and 239 with code 0
  EXPECT_EQ(decode(block, 0), 0.5F * -30 * -127);
  EXPECT_EQ(decode(block, 255), 0.5F * 31 * 113);
  EXPECT_EQ(decode(block, 239), 0.5F * 31 * -127);
}

TEST(BlockFormats, mxfp4_is_a_power_of_two_and_floats_of_four_bits) {
  BlockMXFP4 block = {.e = {127}, .codes = {0xf7, 0x98}};
  EXPECT_EQ(decode(block, 0), 6.0F);
  EXPECT_EQ(decode(block, 16), -6.0F);
  EXPECT_EQ(decode(block, 1), 0.0F);
  EXPECT_EQ(decode(block, 17), -0.5F);
  block.e = {0};
  EXPECT_EQ(decode(block, 0), 0x1.8p-125F);
  block.e = {255};
  EXPECT_TRUE(std::isnan(decode(block, 0)));
}

TEST(BlockFormats, a_product_is_rounded_before_the_subtraction) {
  // d s q = 2047 * 63 * 15 has 21 bits and is exact; with m o = 2^-24 the difference is not.
  BlockQ4K block = {.d = numerics::to_f16(2047.0F), .m = numerics::F16{0x0001}};
  block.groups.bytes[0] = 63;
  block.groups.bytes[4] = 1;
  block.codes[0] = 0x0f;
  EXPECT_EQ(decode(block, 0), 2047.0F * 63 * 15);
}

TEST(BlockFormatsDeathTest, an_index_outside_the_block_stops_the_program) {
  const BlockQ80 block = {};
  EXPECT_DEATH(decode(block, 32), "index=32");
  EXPECT_DEATH(decode(block, -1), "index=-1");
}

}  // namespace
}  // namespace forge::quant
