#include <cuda_runtime.h>

#include "cuda/device_numerics.h"
#include "forge/core/check.h"
#include "forge/numerics/canonical.h"

namespace forge::testing {
namespace {

void require(cudaError_t code, const char* call) {
  FORGE_CHECK(code == cudaSuccess, call, ": ", cudaGetErrorString(code));
}

__device__ float evaluate(DeviceFunction function, float x) {
  switch (function) {
    case DeviceFunction::exp:
      return numerics::exp(x);
    case DeviceFunction::log:
      return numerics::log(x);
    case DeviceFunction::silu:
      return numerics::silu(x);
    case DeviceFunction::rsqrt:
      return numerics::rsqrt(x);
  }
  return 0;
}

__global__ void evaluate_all(DeviceFunction function, float* x, std::size_t count) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count) x[i] = evaluate(function, x[i]);
}

__global__ void square_plus(float a, float c, float* out) { *out = a * a + c; }

/// Copies `x` to the device, runs launch(pointer), and returns what is there then.
template <class Launch>
std::vector<float> through_device(std::span<const float> x, const Launch& launch) {
  std::vector<float> y(x.size());
  float* memory = nullptr;
  require(cudaMalloc(&memory, x.size_bytes()), "cudaMalloc");
  require(cudaMemcpy(memory, x.data(), x.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  launch(memory);
  require(cudaGetLastError(), "launch");
  require(cudaMemcpy(y.data(), memory, x.size_bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  require(cudaFree(memory), "cudaFree");
  return y;
}

}  // namespace

std::vector<float> evaluate_on_device(DeviceFunction function, std::span<const float> x) {
  constexpr unsigned kThreads = 256;
  const auto blocks = static_cast<unsigned>((x.size() + kThreads - 1) / kThreads);
  return through_device(
      x, [&](float* memory) { evaluate_all<<<blocks, kThreads>>>(function, memory, x.size()); });
}

float square_plus_on_device(float a, float c) {
  const float one[1] = {};
  return through_device(one, [&](float* memory) { square_plus<<<1, 1>>>(a, c, memory); })[0];
}

}  // namespace forge::testing
