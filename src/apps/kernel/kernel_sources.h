// The text of the kernels (cuda/kernels), compiled in; CMake writes the source
// (kernel_sources.cc.in).
#pragma once

#include <string>

#include "forge/simt/observer.h"

namespace forge::apps {

/// The line, without the space around it, or "" if it is not one of a kernel's.
std::string source_line(const simt::Site& site);

}  // namespace forge::apps
