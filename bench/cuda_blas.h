// What NVIDIA's own library makes of a matrix product, as the mark to measure ours against.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace forge {

/// TFLOP/s of cuBLAS's single-precision product of two n x n matrices, without tensor cores.
/// cuBLAS is looked up when the program runs. Errors: it is not there, or fails.
tl::expected<double, std::string> cublas_sgemm_tflops(int n);

}  // namespace forge
