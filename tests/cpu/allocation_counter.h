// Counts calls of operator new in a program that links allocation_counter.cc.
#pragma once

#include <cstddef>

namespace forge::testing {

std::size_t allocation_count();

}  // namespace forge::testing
