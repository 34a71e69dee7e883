// legend: every sign in which steps are shown, on a page: by tests and the book (core/notation.h),
// and by the commands of forge-trace (trace_show.h, step_frame.h).
#pragma once

#include <string_view>

namespace forge::trace {

/// Lines with newlines, of at most 80 columns.
std::string_view legend();

}  // namespace forge::trace
