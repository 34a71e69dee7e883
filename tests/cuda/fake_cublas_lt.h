// A cuBLASLt without a GPU: a shared library with the functions that CublasLt looks for, over host
// memory. Tests of CublasLt find it in place of the real one, and say what it multiplies with.
#pragma once

#include <cublasLt.h>

#include <functional>
#include <string>
#include <vector>

namespace forge::testing {

/// A product D [n][m] = B [n][k] A [m][k]^T, row by row.
struct FakeMatmul {
  int n;
  int m;
  int k;
  cudaDataType type;
  const void* a;
  const void* b;
  float* d;
  std::uint64_t algorithm;  ///< FakeAlgorithm::id
};

struct FakeAlgorithm {
  std::uint64_t id;
  std::uint32_t parts_of_k = 1;
  std::size_t workspace = 0;
};

struct FakeCublasLt {
  std::vector<FakeAlgorithm> algorithms;
  std::function<void(const FakeMatmul&)> multiply;
  std::string failing;          ///< the next call of this function fails
  std::size_t workspace = 1;    ///< the last preference of the caller
  std::uint32_t reduction = 1;  ///< likewise
  int live = 0;                 ///< handles and descriptions that have not been destroyed
};

}  // namespace forge::testing

extern "C" forge::testing::FakeCublasLt* fake_cublas_lt();
