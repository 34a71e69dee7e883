// What NVIDIA's own library makes of a matrix product, as the mark to measure ours against.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace forge {

/// Of products of two n x n matrices of random numbers, with sums of floats.
struct BlasTflops {
  double f32 = 0;   ///< of floats, without tensor cores
  double bf16 = 0;  ///< of bf16, with them
};

/// The fastest of a few products each. cuBLAS is looked up when the program runs. Errors: it is not
/// there, or fails.
tl::expected<BlasTflops, std::string> cublas_tflops(int n);

}  // namespace forge
