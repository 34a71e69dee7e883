// show: a trace as a table for people, one row a step.
//
//   step  admitted  resumed   preempted  finished      slices                 blocks
//      0  1 2 3                                        1:0+2* 2:0+3* 3:0+1*   112223
//      1                      3 2                      1:2+1                  111...
//      2                                 3 cancelled   1:3+1                  1111..
//      3                                               1:4+1                  11111.
//      4            2                    1 length      2:0+4*                 2222..
//
// The words are those of core/notation.h, without the signs of the queue; of swaps only how many
// blocks are copied: `[3 out]`, `[3 in]`. legend.h explains them all. The block map has one
// character a block (BlockMap::text); small caches have it at the end of the row, large ones below
// it, 64 blocks a line.
//
// No line is longer than 100 columns; what does not fit a column goes on below it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <tl/expected.hpp>

#include "forge/trace/trace_reader.h"

namespace forge::trace {

/// The steps to show, both ends included.
struct StepRange {
  std::uint64_t from = 0;
  std::uint64_t to = std::numeric_limits<std::uint64_t>::max();
};

/// Prints the steps of `range`. Returns how many were printed.
/// Errors: the trace cannot be read, or its table deltas contradict each other.
tl::expected<std::uint64_t, TraceError> show(TraceReader& trace, const StepRange& range,
                                             std::ostream& out);

}  // namespace forge::trace
