// code_rows: activations in 8 bits, in groups of 32.
//
//   grid      x: vectors of the rows; y: pieces of 16 groups. A group has eight lanes of a warp,
//             each four inputs, a quad
//   memory    x: 512 consecutive bytes a warp, or 256 of 16-bit numbers, number by number, since
//             rows need not be aligned; with an order, from anywhere. A group is 48 bytes: its
//             lanes write a word of codes each, four of them a word more
//   bits      linear::code_group: the largest of 32 magnitudes and sums of integers are the same in
//             any order, the rest is done number by number
#pragma once

#include "forge/gpu/kernels/code_rows.h"
#include "forge/numerics/canonical.h"
#include "forge/simt/dialect.h"
#include "widen.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// The code of x: rounded to nearest, ties to even, by adding a number next to which floats are the
/// whole numbers.
FORGE_DEVICE std::int32_t code_of(float x, float scale) {
  constexpr float kLargest = 127.0f;
  constexpr float kRound = 0x1.8p+23f;
  if (scale == 0.0f) return 0;
  const float quotient = numerics::divide(x, scale);
  const float below = quotient < -kLargest ? -kLargest : quotient;
  const float clamped = below > kLargest ? kLargest : below;
  return static_cast<std::int32_t>(clamped + kRound - kRound);
}

/// The largest of the eight lanes of a group.
FORGE_DEVICE float largest_of_group(float x) {
  for (int distance = 1; distance < gpu::CodeRowsArgs::kGroupThreads; distance *= 2) {
    const float other = shuffle_xor(x, distance);
    x = other > x ? other : x;
  }
  return x;
}

/// The sum of the four lanes of a half of a group.
FORGE_DEVICE std::int32_t sum_of_half(std::int32_t sum) {
  sum += shuffle_xor(sum, 1);
  return sum + shuffle_xor(sum, 2);
}

/// Number k of all vectors.
FORGE_DEVICE float number_of(const gpu::CodeRowsArgs& a, std::int64_t k) {
  if (a.halves == nullptr) return global(a.x)[k];
  const std::uint16_t half = global(static_cast<const std::uint16_t*>(a.halves))[k];
  return a.type == numerics::HalfType::f16 ? widened_f16(half) : widened_bf16(half);
}

FORGE_KERNEL(gpu::CodeRowsArgs::kThreads) code_rows(gpu::CodeRowsArgs a) {
  constexpr int kLanes = gpu::CodeRowsArgs::kGroupThreads;
  constexpr int kWords = sizeof(gpu::RowGroup) / sizeof(std::uint32_t);
  const std::int64_t vector = block().x;
  start_next();
  wait_for_previous();
  const std::uint32_t rows = global(a.row_count)[0];
  if (vector >= std::int64_t{rows} * a.vectors) return;
  const int quad = block().y * threads() + thread();  // of the vector
  const std::int64_t stride = a.x_stride > 0 ? a.x_stride : a.inputs;

  float numbers[4] = {};
  float largest = 0.0f;
  for (int i = 0; i < 4; ++i) {
    const int k = 4 * quad + i;
    if (k >= a.inputs) continue;
    std::int32_t from = k;
    if (a.order != nullptr) from = global(a.order)[k];
    numbers[i] = number_of(a, vector * stride + from);
    const float magnitude = numerics::float_of(numerics::bits_of(numbers[i]) & 0x7fffffffu);
    largest = magnitude > largest ? magnitude : largest;
  }
  const float scale = numerics::divide(largest_of_group(largest), 127.0f);

  std::uint32_t codes = 0;
  std::int32_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    const std::int32_t code = code_of(numbers[i], scale);
    codes |= (static_cast<std::uint32_t>(code) & 255u) << (8 * i);
    sum += code;
  }
  sum = sum_of_half(sum);
  const std::int32_t other_half = shuffle_xor(sum, kLanes / 2);

  const int groups = linear::codes::group_count(a.inputs);
  const int group = quad / kLanes;
  if (group >= groups) return;
  const gptr<std::uint32_t> words =
      global(reinterpret_cast<std::uint32_t*>(a.coded)) + (vector * groups + group) * kWords;
  const int place = quad % kLanes;
  words[place] = codes;
  if (place >= kLanes / 2) return;
  std::uint32_t word = 0;
  if (place == 0) word = static_cast<std::uint32_t>(sum);
  if (place == 1) word = static_cast<std::uint32_t>(other_half);
  if (place == 2) word = numerics::bits_of(scale);
  if (place == 3) word = numerics::bits_of(scale * static_cast<float>(sum + other_half));
  words[kLanes + place] = word;
}

}  // namespace FORGE_KERNELS
