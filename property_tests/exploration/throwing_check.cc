// A FORGE_CHECK that fails throws, so that the exploration can go on and shorten the way to it.
// Linked in place of src/core/check.cc: an object of the program goes before a library's.
#include "forge/core/check.h"
#include "world.h"

namespace forge::detail {

void check_failed(const char* file, int, const char* condition, const std::string& details) {
  const std::string path = file;
  throw testing::CheckFailed("check failed: " + path.substr(path.rfind('/') + 1) + ": " +
                             condition + (details.empty() ? "" : " (" + details + ")"));
}

}  // namespace forge::detail
