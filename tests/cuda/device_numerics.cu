#include <cuda_runtime.h>

#include "cuda/device_numerics.h"
#include "forge/core/check.h"
#include "forge/numerics/exp2.h"

namespace forge::testing {
namespace {

void require(cudaError_t code, const char* call) {
  FORGE_CHECK(code == cudaSuccess, call, ": ", cudaGetErrorString(code));
}

__device__ float evaluate(DeviceFunction function, float x) {
  switch (function) {
    case DeviceFunction::exp:
      return numerics::exp(x);
    case DeviceFunction::exp2:
      return numerics::exp2(x);
    case DeviceFunction::log:
      return numerics::log(x);
    case DeviceFunction::silu:
      return numerics::silu(x);
    case DeviceFunction::rsqrt:
      return numerics::rsqrt(x);
    case DeviceFunction::tanh:
      return numerics::tanh(x);
  }
  return 0;
}

__global__ void evaluate_all(DeviceFunction function, float* x, std::size_t count) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count) x[i] = evaluate(function, x[i]);
}

__global__ void square_plus(float a, float c, float* out) { *out = a * a + c; }

// The words of a fragment, by lane: PTX ISA, matrix fragments for mma.m16n8k16 with 16-bit types.
template <class Half>
__device__ std::uint32_t pair(const Half* x) {
  return x[0].bits | std::uint32_t{x[1].bits} << 16;
}

__device__ void mma(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                    numerics::BF16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ void mma(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                    numerics::F16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// A warp a fragment.
template <class Half>
__global__ void multiply_fragments(const StepFragment<Half>* fragments, std::size_t count,
                                   float* out) {
  const std::size_t f = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) / 32;
  if (f >= count) return;
  const StepFragment<Half>& x = fragments[f];
  const unsigned row = threadIdx.x % 32 / 4;
  const unsigned column = threadIdx.x % 4 * 2;
  const std::uint32_t a[4] = {pair(&x.a[row][column]), pair(&x.a[row + 8][column]),
                              pair(&x.a[row][column + 8]), pair(&x.a[row + 8][column + 8])};
  const std::uint32_t b[2] = {pair(&x.b[row][column]), pair(&x.b[row][column + 8])};
  float d[4] = {x.c[row][column], x.c[row][column + 1], x.c[row + 8][column],
                x.c[row + 8][column + 1]};
  mma(d, a, b, Half{});
  float* const y = out + f * kStepOutputs + row * 8 + column;
  y[0] = d[0];
  y[1] = d[1];
  y[64] = d[2];
  y[65] = d[3];
}

template <class Half>
std::vector<float> multiply_on_device(std::span<const StepFragment<Half>> fragments) {
  std::vector<float> y(fragments.size() * kStepOutputs);
  StepFragment<Half>* in = nullptr;
  float* out = nullptr;
  require(cudaMalloc(&in, fragments.size_bytes()), "cudaMalloc");
  require(cudaMalloc(&out, y.size() * sizeof(float)), "cudaMalloc");
  require(cudaMemcpy(in, fragments.data(), fragments.size_bytes(), cudaMemcpyHostToDevice),
          "cudaMemcpy");
  constexpr unsigned kThreads = 256;
  const auto blocks = static_cast<unsigned>((fragments.size() * 32 + kThreads - 1) / kThreads);
  multiply_fragments<<<blocks, kThreads>>>(in, fragments.size(), out);
  require(cudaGetLastError(), "launch");
  require(cudaMemcpy(y.data(), out, y.size() * sizeof(float), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
  require(cudaFree(in), "cudaFree");
  require(cudaFree(out), "cudaFree");
  return y;
}

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

int compute_capability_major() {
  int major = 0;
  require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0),
          "cudaDeviceGetAttribute");
  return major;
}

std::vector<float> steps_on_device(std::span<const StepFragment<numerics::BF16>> fragments) {
  return multiply_on_device(fragments);
}
std::vector<float> steps_on_device(std::span<const StepFragment<numerics::F16>> fragments) {
  return multiply_on_device(fragments);
}

}  // namespace forge::testing
