#include "simt/test_kernels.h"

#include <fstream>

#include "forge/core/check.h"

namespace forge::simt {

KernelCode code(const char* name, Entry TestEntries::*kernel) {
  return {.name = name,
          .plain = kernels::plain::test_entries().*kernel,
          .instrumented = kernels::instrumented::test_entries().*kernel};
}

Site line_with(const std::string& mark) {
  std::ifstream source(FORGE_TEST_KERNELS);
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.ends_with("// " + mark)) {
      return {kernels::instrumented::test_entries().file, number};
    }
  }
  FORGE_CHECK(false, "no line of " FORGE_TEST_KERNELS " ends in // ", mark);
  return {};
}

}  // namespace forge::simt
