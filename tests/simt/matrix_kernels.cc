#include "simt/matrix_kernels.h"

#include <fstream>

#include "forge/core/check.h"

namespace forge::simt {

KernelCode code(const char* name, Entry MatrixEntries::*kernel) {
  return {.name = name,
          .plain = kernels::plain::matrix_entries().*kernel,
          .instrumented = kernels::instrumented::matrix_entries().*kernel};
}

Site matrix_line(const std::string& mark) {
  std::ifstream source(FORGE_MATRIX_KERNELS);
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.ends_with("// " + mark)) {
      return {kernels::instrumented::matrix_entries().file, number};
    }
  }
  FORGE_CHECK(false, "no line of " FORGE_MATRIX_KERNELS " ends in // ", mark);
  return {};
}

}  // namespace forge::simt
