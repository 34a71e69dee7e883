// The most memory that a piece of code holds, in a program that links heap_peak.cc.
#pragma once

#include <cstddef>

namespace forge::formats::testing {

/// Bytes from operator new that are held now.
std::size_t heap_bytes();

/// The most since the last call of reset_heap_peak().
std::size_t heap_peak_bytes();
void reset_heap_peak();

}  // namespace forge::formats::testing
