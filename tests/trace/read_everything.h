// The entry point of fuzzing: whatever the bytes, reading, checking, comparing, showing and
// replaying a trace ends, without a crash.
#pragma once

#include <string>

namespace forge::testing {

void read_everything(const std::string& bytes);

}  // namespace forge::testing
