// What stands in the place of a body that is to be written.
#pragma once

namespace forge::labs {

/// Says that the task has not been begun, and ends the program with status 3.
[[noreturn]] void todo(const char* task);

}  // namespace forge::labs

#define FORGE_LAB_TODO(task) ::forge::labs::todo(#task)
