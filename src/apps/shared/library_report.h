// What came of trying a vendor's library of matrix products, in lines.
#pragma once

#include <iosfwd>

#include "forge/gpu/matrix_library.h"

namespace forge::apps {

/// Which library has products of many rows, or why there is none; and a line for each algorithm
/// that was refused. Nothing where none was wanted.
void print_library(const gpu::LibraryReport& report, std::ostream& out);

}  // namespace forge::apps
