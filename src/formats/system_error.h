// What the operating system says about a file, as a FileError.
#pragma once

#include <string>

#include "forge/formats/file_error.h"

namespace forge::formats::detail {

/// "cannot be opened: Permission denied", from an `action` like "opened" and an errno.
FileError system_error(const std::string& path, const std::string& action, int code);

}  // namespace forge::formats::detail
