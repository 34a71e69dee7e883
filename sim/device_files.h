// The files of sim/devices, compiled in; CMake writes the source (device_files.cc.in).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace forge::sim {

/// Name (the file's, less .json) and text, in ascending order of names.
std::vector<std::pair<std::string, std::string>> built_in_device_files();

}  // namespace forge::sim
