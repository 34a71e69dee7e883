// The entry point of fuzzing: whatever the bytes, everything that reads a trace ends, without a
// crash; of the bytes as they are, and of their whole lines.
#pragma once

#include <string>

namespace forge::testing {

void read_everything(const std::string& bytes);

}  // namespace forge::testing
