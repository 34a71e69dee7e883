// Where the models of tests/golden are: where the tests were built, or in the folder FORGE_GOLDEN,
// on a machine that has programs alone.
#pragma once

#include <cstdlib>
#include <string>

namespace forge::testing {

inline std::string golden_folder() {
  const char* const folder = std::getenv("FORGE_GOLDEN");
  return folder != nullptr ? folder : FORGE_GOLDEN;
}

/// A path below it.
inline std::string golden(const std::string& name) { return golden_folder() + "/" + name; }

}  // namespace forge::testing
