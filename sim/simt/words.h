// Threads, blocks and bytes in the words of a fault's report.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "forge/simt/shape.h"

namespace forge::simt {

/// "thread 5", "threads 0-127 and 130". Requires: ascending, not empty.
std::string name_threads(std::span<const int> threads);

/// "(3, 0, 0)"
std::string to_string(const Index3& index);

/// "1 byte", "16 bytes"
std::string count_bytes(std::size_t bytes);

}  // namespace forge::simt
