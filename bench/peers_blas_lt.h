// cuBLASLt beside our products: for each number of rows the first algorithm that its heuristic
// names, with 32 MiB of workspace. Factors are bf16, sums and results floats.
//
// It is looked up when the program runs, as cuBLAS is (cuda_blas.h).
#pragma once

#include "peers_products.h"

namespace forge {

/// "cublasLt". Errors of what it makes: it is not there, or fails.
ProductMaker blas_lt_products();

}  // namespace forge
