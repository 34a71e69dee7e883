#include "cublas_lt_functions.h"

#include "dynamic_library.h"

namespace forge::cuda {

std::string CublasLtFunctions::file_name() {
  return "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
}

tl::expected<CublasLtFunctions, std::string> CublasLtFunctions::load(const std::string& file) {
  auto library = DynamicLibrary::open(file);
  if (!library) return tl::unexpected(library.error());
  CublasLtFunctions functions;
#define FORGE_ENTRY(name) library->find(functions.name, #name);
  FORGE_FOR_EACH_CUBLAS_LT_FUNCTION(FORGE_ENTRY)
#undef FORGE_ENTRY
  if (auto complete = library->complete(); !complete) return tl::unexpected(complete.error());
  return functions;
}

}  // namespace forge::cuda
