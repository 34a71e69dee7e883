#include "forge/core/check.h"

#include <cstdio>
#include <cstdlib>

namespace forge::detail {

void check_failed(const char* file, int line, const char* condition, const std::string& details) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, condition, details.c_str());
  std::abort();
}

}  // namespace forge::detail
