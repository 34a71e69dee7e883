// The order in which products read activations in 8 bits.
//
// A CodedGroup holds 32 inputs of one row. Rows are taken in blocks of up to 64, whose partial
// results stay in the L1 cache; within a block the groups of all its rows are neighbours:
//
//   block 0:  group 0 of rows 0 .. 63 | group 1 of rows 0 .. 63 | ...
//   block 1:  group 0 of rows 64 .. | ...                                the last may have fewer
//
// so that a group of weights against a block of rows is a walk through contiguous memory.
#pragma once

#include <algorithm>
#include <cstddef>

#include "forge/linear/code_layout.h"
#include "forge/linear/product.h"

namespace forge::linear::codes {

inline constexpr int kRowBlock = 64;

/// Rows of the block that begins at first_row, where there are `rows` in all.
constexpr int block_rows(int first_row, int rows) { return std::min(kRowBlock, rows - first_row); }

/// Index of the first group of the block that begins at first_row, a multiple of kRowBlock.
constexpr std::ptrdiff_t block_begin(int first_row, int groups) {
  return static_cast<std::ptrdiff_t>(first_row) * groups;
}

}  // namespace forge::linear::codes
