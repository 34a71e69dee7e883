// Numbers of threads in few words.
#pragma once

#include <span>
#include <string>

namespace forge::simt {

/// "thread 5", "threads 0-127 and 130". Requires: ascending, not empty.
std::string name_threads(std::span<const int> threads);

}  // namespace forge::simt
