// The entry point of fuzzing: whatever the bytes, everything that reads a trace ends, without a
// crash.
#pragma once

#include <string>

namespace forge::testing {

void read_everything(const std::string& bytes);

}  // namespace forge::testing
