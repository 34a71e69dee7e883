// The functions of cuBLASLt that are called here, looked up in its shared library when it is
// loaded: hundreds of megabytes, without which every program here starts and runs.
//
// Thread contract: a value.
#pragma once

#include <cublasLt.h>

#include <string>
#include <tl/expected.hpp>

namespace forge::cuda {

/// ENTRY(name) for each.
#define FORGE_FOR_EACH_CUBLAS_LT_FUNCTION(ENTRY) \
  ENTRY(cublasLtCreate)                          \
  ENTRY(cublasLtDestroy)                         \
  ENTRY(cublasLtGetVersion)                      \
  ENTRY(cublasLtGetStatusString)                 \
  ENTRY(cublasLtMatmulDescCreate)                \
  ENTRY(cublasLtMatmulDescDestroy)               \
  ENTRY(cublasLtMatmulDescSetAttribute)          \
  ENTRY(cublasLtMatrixLayoutCreate)              \
  ENTRY(cublasLtMatrixLayoutDestroy)             \
  ENTRY(cublasLtMatmulPreferenceCreate)          \
  ENTRY(cublasLtMatmulPreferenceDestroy)         \
  ENTRY(cublasLtMatmulPreferenceSetAttribute)    \
  ENTRY(cublasLtMatmulAlgoGetHeuristic)          \
  ENTRY(cublasLtMatmulAlgoConfigGetAttribute)    \
  ENTRY(cublasLtMatmul)

struct CublasLtFunctions {
#define FORGE_ENTRY(name) decltype(&::name) name = nullptr;
  FORGE_FOR_EACH_CUBLAS_LT_FUNCTION(FORGE_ENTRY)
#undef FORGE_ENTRY

  /// The file that the loader looks for: that of the version whose header this was built with.
  static std::string file_name();

  /// Loads `file`, for good. Errors: there is no such library, or it lacks a function.
  static tl::expected<CublasLtFunctions, std::string> load(const std::string& file);
};

}  // namespace forge::cuda
