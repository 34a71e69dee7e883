#include "cuda_blas.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "dynamic_library.h"
#include "forge/numerics/kv_type.h"
#include "forge/numerics/philox.h"

namespace forge {
namespace {

/// cublasGemmEx. C++ has a second function of this name, for the types of older versions.
using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m,
                                  int n, int k, const void* alpha, const void* a,
                                  cudaDataType a_type, int a_stride, const void* b,
                                  cudaDataType b_type, int b_stride, const void* beta, void* c,
                                  cudaDataType c_type, int c_stride, cublasComputeType_t,
                                  cublasGemmAlgo_t);

/// cuBLAS is hundreds of megabytes; a program that linked it would not start without it.
struct Blas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  GemmEx multiply;
};

tl::expected<Blas, std::string> load_blas() {
  auto library = cuda::DynamicLibrary::open("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR));
  if (!library) return tl::unexpected(library.error());
  Blas blas{};
  library->find(blas.create, "cublasCreate_v2");
  library->find(blas.destroy, "cublasDestroy_v2");
  library->find(blas.multiply, "cublasGemmEx");
  return library->complete().map([&] { return blas; });
}

struct FreeDevice {
  void operator()(void* memory) const { static_cast<void>(cudaFree(memory)); }
};
using Matrix = std::unique_ptr<void, FreeDevice>;

/// An n x n matrix of random numbers: a GPU multiplies constants faster, for want of heat.
template <class Number>
tl::expected<Matrix, std::string> make_matrix(int n, std::uint64_t seed) {
  const std::size_t count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  void* memory = nullptr;
  cudaError_t code = cudaMalloc(&memory, count * sizeof(Number));
  Matrix matrix(memory);
  if (code == cudaSuccess) {
    std::vector<Number> numbers(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t word =
          numerics::philox({{static_cast<std::uint32_t>(i), 0, 0, 0}}, seed).x[0];
      numbers[i] = numerics::stored<Number>(numerics::uniform_open(word) - 0.5F);
    }
    code = cudaMemcpy(memory, numbers.data(), count * sizeof(Number), cudaMemcpyHostToDevice);
  }
  if (code != cudaSuccess) return tl::unexpected(std::string(cudaGetErrorString(code)));
  return matrix;
}

/// Milliseconds of the fastest of some products; the first ones warm up. Sums are floats.
template <class Number>
tl::expected<float, std::string> fastest_ms(const Blas& blas, cublasHandle_t handle, int n) {
  constexpr auto kType = std::is_same_v<Number, float> ? CUDA_R_32F : CUDA_R_16BF;
  const auto a = make_matrix<Number>(n, 1);
  const auto b = make_matrix<Number>(n, 2);
  const auto c = make_matrix<Number>(n, 3);
  if (!a || !b || !c) return tl::unexpected(std::string("cuBLAS: no memory for the matrices"));
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  const float one = 1;
  const float zero = 0;
  float fastest = 1e30F;
  bool succeeded = true;
  for (int round = 0; round < 8; ++round) {
    cudaEventRecord(begin, nullptr);
    succeeded &= blas.multiply(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, a->get(), kType, n,
                               b->get(), kType, n, &zero, c->get(), kType, n, CUBLAS_COMPUTE_32F,
                               CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
    cudaEventRecord(end, nullptr);
    succeeded &= cudaEventSynchronize(end) == cudaSuccess;
    float ms = 0;
    succeeded &= cudaEventElapsedTime(&ms, begin, end) == cudaSuccess;
    if (round >= 2) fastest = std::min(fastest, ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  if (!succeeded) return tl::unexpected(std::string("cublasGemmEx failed"));
  return fastest;
}

}  // namespace

tl::expected<BlasTflops, std::string> cublas_tflops(int n) {
  const auto blas = load_blas();
  if (!blas) return tl::unexpected(blas.error());
  cublasHandle_t handle = nullptr;
  if (blas->create(&handle) != CUBLAS_STATUS_SUCCESS)
    return tl::unexpected(std::string("cublasCreate failed"));
  const auto f32_ms = fastest_ms<float>(*blas, handle, n);
  const auto bf16_ms = fastest_ms<numerics::BF16>(*blas, handle, n);
  blas->destroy(handle);
  if (!f32_ms) return tl::unexpected(f32_ms.error());
  if (!bf16_ms) return tl::unexpected(bf16_ms.error());
  const double tera_operations = 2.0 * n * n * n / 1e12;
  return BlasTflops{.f32 = tera_operations / (static_cast<double>(*f32_ms) / 1e3),
                    .bf16 = tera_operations / (static_cast<double>(*bf16_ms) / 1e3)};
}

}  // namespace forge
