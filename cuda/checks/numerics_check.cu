// The canonical numerics as device code. Compiled to PTX only: check_ptx.cmake reads there
// whether the header kept its promises under the CUDA compiler. Each kernel isolates one.
#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"

namespace numerics = forge::numerics;

// Dies when a product and a sum that the source keeps apart are fused.
extern "C" __global__ void canary_kernel(float a, float b, float c, float* out) {
  *out = a * b + c;
}

extern "C" __global__ void explicit_fma_kernel(float a, float b, float c, float* out) {
  *out = numerics::fma(a, b, c);
}

extern "C" __global__ void divide_kernel(float a, float b, float* out) {
  *out = numerics::divide(a, b);
}

extern "C" __global__ void rsqrt_kernel(float x, float* out) { *out = numerics::rsqrt(x); }

extern "C" __global__ void exp_kernel(float x, float* out) { *out = numerics::exp(x); }

extern "C" __global__ void log_kernel(float x, float* out) { *out = numerics::log(x); }

extern "C" __global__ void silu_kernel(float x, float* out) { *out = numerics::silu(x); }

extern "C" __global__ void tanh_kernel(float x, float* out) { *out = numerics::tanh(x); }

extern "C" __global__ void gelu_tanh_kernel(float x, float* out) { *out = numerics::gelu_tanh(x); }

extern "C" __global__ void clamped_swiglu_kernel(float gate, float up, numerics::SwigluClamp clamp,
                                                 float* out) {
  *out = numerics::clamped_swiglu(gate, up, clamp);
}

extern "C" __global__ void soft_cap_kernel(float x, float cap, float* out) {
  *out = numerics::soft_cap(x, cap);
}

extern "C" __global__ void tree_sum_kernel(const float* lanes, float* out) {
  *out = numerics::tree_sum(lanes);
}

// The tree as a warp computes it; tests/numerics shows that the bits are those of tree_sum.
extern "C" __global__ void warp_sum_kernel(const float* lanes, float* out) {
  float sum = lanes[threadIdx.x];
  for (int distance = numerics::kLanes / 2; distance > 0; distance /= 2) {
    sum = sum + __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  *out = sum;
}

extern "C" __global__ void uniform_kernel(std::uint32_t index, std::uint64_t seed, float* out) {
  *out = numerics::uniform_open(numerics::philox({{index, 0, 0, 0}}, seed).x[0]);
}
