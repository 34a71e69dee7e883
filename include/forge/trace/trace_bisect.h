// bisect: where two runs part, without reading them.
//
// The links of a trace are chained: the link of step s is a digest of the plan and the result of s
// and of the link before (RunDigest). So links that are equal at s say that the runs are equal up
// to s, and links that differ at s say that they part at s or before:
//
//   step    0  1  2  3  4  5  6  7
//   links   =  =  =  =  x  x  x  x      equal once, equal before; different once, different after
//                       ^ here, found by binary search over the steps
//
// Each look is a line found by StepIndex, so O(log steps * log bytes) of it is read, not the files.
// Then the events since the last equal step are compared field by field, as diff does.
//
// Links speak of what was decided and answered. Two things they do not show: a request that was
// submitted differently but has made no difference yet, and a file that was edited without
// its links. diff finds both and reads everything; replay (or LinkCheck) tests links.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <tl/expected.hpp>

#include "forge/trace/trace_diff.h"

namespace forge::trace {

struct Bisection {
  /// What compare() would say, but the events before the last step with equal links are taken for
  /// equal. Places have only their byte: their lines have not been counted.
  TraceComparison comparison;
  /// The size of a file, and how many bytes of it were read.
  struct Cost {
    std::uint64_t file_bytes = 0;
    std::uint64_t bytes_read = 0;
  };
  Cost left;
  Cost right;
};

/// Both streams must be able to seek; they may not be the same. Errors: those of StepIndex.
tl::expected<Bisection, ComparisonError> bisect(std::istream& left, std::istream& right);

}  // namespace forge::trace
