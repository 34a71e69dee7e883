// quantize: floats become a stored row, with close to the least squared error that its format
// allows.
//
//   F16, BF16    rounded to nearest, beyond the largest finite number to that number
//   Q8_0         d = max |x| / 127
//   Q4_0, Q5_0   d by least squares, from several trial ranges
//   Q4_1, Q5_1   d and m likewise
//   Q4_K, Q5_K   for each group of 32 a scale and an offset by least squares, from several trial
//                ranges; then both are rounded to their 6 bits, up or down, whichever stores the
//                group better, and d and m are fitted anew to the codes that result
//   Q2_K         the same, for each group of 16 and with 4 bits
//   Q3_K, Q6_K   for each group of 16 as Q4_0, then its scale is rounded to 6 or 8 bits likewise
//   IQ4_NL       as Q4_0, with the codes of the table
//   IQ4_XS       for each group of 32 so, then its scale is rounded to 6 bits
//   MXFP4        the scale of the OCP specification, with which the largest number is 4 or more, or
//                twice that
//
// Codes are the nearest to what is stored. The search minimises the sum of squared errors, which is
// what QuantizationError reports; or, given the importance of each number, the sum of importance
// times squared error. The importance of a weight is the mean square of the activations that it is
// multiplied with: then that sum is the expected squared error of an output whose activations are
// independent. (llama.cpp's importance matrices are that.) The bounds below are for rows without.
//
// How large the error can be. Let A be the largest |x| of a block, and W the widest range of its
// groups, 0 included.
//
//   Q8_0         each number   A / 254
//   Q4_0         rms           A / 14
//   Q5_0         rms           A / 30
//   Q4_1         rms           R / 30              R the range of the block: largest less smallest
//   Q5_1         rms           R / 62
//   Q3_K         rms           A / 6 + A / 46       half a step, and the rounding of scales
//   Q6_K         rms           A / 62 + A / 200     likewise
//   Q2_K         rms           W / 6 + W / 12       likewise, W of groups of 16
//   Q4_K         rms           W / 30 + W / 50      likewise
//   Q5_K         rms           W / 62 + W / 50      likewise
//   IQ4_NL       rms           A / 9                half of the widest gap of the table
//   IQ4_XS       rms           A / 9 + A / 55       likewise, and the rounding of scales
//   MXFP4        rms           A / 4                8 becomes 6
//
// to within the rounding of d and m to f16: a relative 2^-11, and where they are below 2^-14 an
// error of up to 2^-20 in x (there they are rounded away from 0, so that no number is cut off; m of
// Q4_1 and Q5_1, which is a number and no scale, to nearest). A block whose numbers are all below
// 2^-25 becomes zeros. Scales stop at 65504, the largest f16: numbers beyond the codes' reach then
// get the outermost code. No scale is an infinity or a NaN. (MXFP4, whose scales are powers of two
// from 2^-127 on, has no such limits.)
//
// A pure function of the row: the same bits on every machine (explicit order, no contraction).
// Thread-safe, allocates nothing. Requires: all numbers are finite.
#pragma once

#include <cstddef>
#include <span>

#include "forge/quant/weight_type.h"

namespace forge::quant {

/// What rounding did to some numbers.
struct QuantizationError {
  double sum_squared_error = 0;
  double sum_squares = 0;  ///< sum of squares of the numbers themselves
  double max_error = 0;    ///< largest |x - stored x|
  std::size_t count = 0;

  void add(const QuantizationError& other);
  double rms() const;       ///< root of the mean squared error; 0 if count is 0
  double relative() const;  ///< rms error over rms of the numbers; 0 where all are 0
};

/// Writes row [count] to `stored`, bytes_of(type, count) bytes of any alignment. Returns: the error
/// against what dequantize() will read. Requires: count is a multiple of block_elements(type); type
/// is not i8, whose scale lies elsewhere; `importance` is empty or as long as the row, of numbers
/// 2^-20 .. 2^20.
QuantizationError quantize(WeightType type, std::span<const float> row, std::byte* stored,
                           std::span<const float> importance = {});

}  // namespace forge::quant
