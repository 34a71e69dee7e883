#include "cuda_blas.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "forge/numerics/philox.h"

namespace forge {
namespace {

/// cuBLAS is hundreds of megabytes; a program that linked it would not start without it.
struct Blas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSgemm_v2) sgemm;
};

tl::expected<Blas, std::string> load_blas() {
  const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* const library = dlopen(name.c_str(), RTLD_NOW);
  if (library == nullptr) return tl::unexpected(std::string(dlerror()));
  Blas blas{};
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
  };
  find(blas.create, "cublasCreate_v2");
  find(blas.destroy, "cublasDestroy_v2");
  find(blas.sgemm, "cublasSgemm_v2");
  if (blas.create == nullptr || blas.destroy == nullptr || blas.sgemm == nullptr) {
    return tl::unexpected(name + " lacks a function");
  }
  return blas;
}

struct FreeDevice {
  void operator()(float* memory) const { static_cast<void>(cudaFree(memory)); }
};
using Matrix = std::unique_ptr<float, FreeDevice>;

/// An n x n matrix of random numbers: a GPU multiplies constants faster, for want of heat.
tl::expected<Matrix, std::string> make_matrix(int n, std::uint64_t seed) {
  const std::size_t count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  void* memory = nullptr;
  cudaError_t code = cudaMalloc(&memory, count * sizeof(float));
  Matrix matrix(static_cast<float*>(memory));
  if (code == cudaSuccess) {
    std::vector<float> numbers(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t word =
          numerics::philox({{static_cast<std::uint32_t>(i), 0, 0, 0}}, seed).x[0];
      numbers[i] = numerics::uniform_open(word) - 0.5F;
    }
    code = cudaMemcpy(memory, numbers.data(), count * sizeof(float), cudaMemcpyHostToDevice);
  }
  if (code != cudaSuccess) return tl::unexpected(std::string(cudaGetErrorString(code)));
  return matrix;
}

/// Milliseconds of the fastest of some products; the first ones warm up.
tl::expected<float, std::string> fastest_ms(const Blas& blas, cublasHandle_t handle, int n) {
  const auto a = make_matrix(n, 1);
  const auto b = make_matrix(n, 2);
  const auto c = make_matrix(n, 3);
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
    succeeded &= blas.sgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, a->get(), n, b->get(),
                            n, &zero, c->get(), n) == CUBLAS_STATUS_SUCCESS;
    cudaEventRecord(end, nullptr);
    succeeded &= cudaEventSynchronize(end) == cudaSuccess;
    float ms = 0;
    succeeded &= cudaEventElapsedTime(&ms, begin, end) == cudaSuccess;
    if (round >= 2) fastest = std::min(fastest, ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  if (!succeeded) return tl::unexpected(std::string("cublasSgemm failed"));
  return fastest;
}

}  // namespace

tl::expected<double, std::string> cublas_sgemm_tflops(int n) {
  const auto blas = load_blas();
  if (!blas) return tl::unexpected(blas.error());
  cublasHandle_t handle = nullptr;
  if (blas->create(&handle) != CUBLAS_STATUS_SUCCESS)
    return tl::unexpected(std::string("cublasCreate failed"));
  const auto ms = fastest_ms(*blas, handle, n);
  blas->destroy(handle);
  if (!ms) return tl::unexpected(ms.error());
  return 2.0 * n * n * n / (static_cast<double>(*ms) * 1e9);
}

}  // namespace forge
