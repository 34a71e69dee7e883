// forge-trace diff and bisect: is this the same run?
#pragma once

#include <string>

namespace forge {

/// Each returns an exit status (trace_file.h).
int run_diff(const std::string& left, const std::string& right);
int run_bisect(const std::string& left, const std::string& right);

}  // namespace forge
