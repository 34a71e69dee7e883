// Reading codes from the stored forms, in groups of 32 inputs of one output.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forge/linear/code_layout.h"
#include "forge/linear/stored_linear.h"
#include "forge/numerics/half.h"

namespace forge::linear::codes {

/// 32 weights s (c - o) h - m n. What a form does not have is 1, or 0 for o and m: every form is a
/// case of this one. Codes of a table stand for numbers in place of c - o.
struct SourceGroup {
  std::uint8_t codes[kGroup] = {};  ///< c
  int offset = 0;                   ///< o
  const std::int8_t* table = nullptr;
  float row_scale = 1.0F;      ///< s = row_scale * d * scale, which is exact
  numerics::F16 d = {0x3c00};  ///< 1
  numerics::F16 m = {};        ///< m = this * min, which is exact
  int scale = 1;
  int min = 0;                  ///< -1 for the forms that add their m
  int half_scales[2] = {1, 1};  ///< h, of inputs 0 .. 15 and 16 .. 31
  int half_mins[2] = {1, 1};    ///< n, likewise

  int number(int i) const { return table == nullptr ? codes[i] - offset : table[codes[i]]; }
  float step() const { return row_scale * (to_float(d) * static_cast<float>(scale)); }
  float offset_below() const { return to_float(m) * static_cast<float>(min); }
};

/// Groups `first` .. of an output, as many as `out` has, their inputs taken in `order` unless that
/// is empty. Inputs past the last are zeros: c = o. Requires: the inputs of each group of 32 share
/// a scale.
void read_groups(const StoredLinear& linear, std::span<const std::int32_t> order, int output,
                 int first, std::span<SourceGroup> out);

/// One of them.
SourceGroup read_group(const StoredLinear& linear, std::span<const std::int32_t> order, int output,
                       int group);

/// The numbers that 16 codes stand for; null for forms whose codes are numbers.
const std::int8_t* table_of(const StoredLinear& linear);

/// The inputs sorted by group, ascending within a group, where act-order permuted them; or empty.
std::vector<std::int32_t> packed_order(const StoredLinear& linear);

}  // namespace forge::linear::codes
