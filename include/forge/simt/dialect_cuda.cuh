// The words of dialect.h for nvcc: each one is its CUDA word.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "forge/numerics/half.h"
#include "forge/simt/matrix.h"
#include "forge/simt/shape.h"

#define FORGE_KERNELS forge::kernels::cuda
#define FORGE_KERNEL(...) __global__ void __launch_bounds__(__VA_ARGS__)
#define FORGE_DEVICE __device__ __forceinline__
#define FORGE_KERNEL_ENTRY(name) (reinterpret_cast<const void*>(&name))
#define FORGE_ROLLED _Pragma("unroll 1")
#define FORGE_UNROLLED _Pragma("unroll")
#define SIMT_SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define SIMT_SHARED_DYNAMIC(type, name)                                  \
  extern __shared__ __align__(128) unsigned char forge_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(forge_dynamic_shared)

namespace forge::simt {

template <class T>
using gptr = T*;
template <class T>
using sptr = T*;

template <class T>
FORGE_DEVICE gptr<T> global(T* p) {
  return p;
}

FORGE_DEVICE int thread() { return static_cast<int>(threadIdx.x); }
FORGE_DEVICE int threads() { return static_cast<int>(blockDim.x); }
FORGE_DEVICE int lane() { return thread() % kWarpSize; }
FORGE_DEVICE int warp() { return thread() / kWarpSize; }
FORGE_DEVICE Index3 block() {
  return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
}
FORGE_DEVICE Index3 grid() {
  return {static_cast<int>(gridDim.x), static_cast<int>(gridDim.y), static_cast<int>(gridDim.z)};
}

FORGE_DEVICE Float4 load4(const float* p) { return *reinterpret_cast<const Float4*>(p); }
FORGE_DEVICE void store4(float* p, Float4 v) { *reinterpret_cast<Float4*>(p) = v; }

template <class T>
FORGE_DEVICE Words4 load16(const T* p) {
  return *reinterpret_cast<const Words4*>(p);
}
template <class T>
FORGE_DEVICE void store16(T* p, Words4 v) {
  *reinterpret_cast<Words4*>(p) = v;
}

FORGE_DEVICE std::int32_t dot4(std::uint32_t a, std::uint32_t b, std::int32_t sum) {
  return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
}

FORGE_DEVICE void sync_block() { __syncthreads(); }
FORGE_DEVICE void sync_warp() { __syncwarp(); }

// A shuffle moves 4 bytes: a smaller value is widened, one of 8 bytes moved in two parts.
template <class T>
using ShuffleBits = std::conditional_t<sizeof(T) <= sizeof(unsigned), unsigned, unsigned long long>;

template <class T>
FORGE_DEVICE ShuffleBits<T> to_bits(T v) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(unsigned long long));
  ShuffleBits<T> bits = 0;
  memcpy(&bits, &v, sizeof v);
  return bits;
}
template <class T>
FORGE_DEVICE T from_bits(ShuffleBits<T> bits) {
  T v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

template <class T>
FORGE_DEVICE T shuffle(T v, int from) {
  return from_bits<T>(__shfl_sync(0xffffffffu, to_bits(v), from));
}
template <class T>
FORGE_DEVICE T shuffle_xor(T v, int mask) {
  return from_bits<T>(__shfl_xor_sync(0xffffffffu, to_bits(v), mask));
}

FORGE_DEVICE float warp_sum(float v) {
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    v = v + shuffle_xor(v, distance);
  }
  return v;
}
FORGE_DEVICE float warp_max(float v) {
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    const float other = shuffle_xor(v, distance);
    v = other > v ? other : v;
  }
  return v + 0.0f;
}

template <class T>
FORGE_DEVICE void shared_add(T* p, T v) {
  static_assert(std::is_same_v<T, unsigned> || std::is_same_v<T, int>);
  atomicAdd(p, v);
}

// ---- Launches that overlap ----------------------------------------------------------------------

// Before sm_90 no launch does.
FORGE_DEVICE void start_next() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
FORGE_DEVICE void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- Asynchronous copies ------------------------------------------------------------------------

template <class T>
FORGE_DEVICE unsigned shared_address(const T* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

template <class T, class U>
FORGE_DEVICE void copy_async(T* to, const U* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
}
FORGE_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
FORGE_DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// ---- Numbers of 16 bits -------------------------------------------------------------------------

template <class T>
FORGE_DEVICE std::uint32_t round_pair(float first, float second) {
  std::uint32_t word;
  if constexpr (std::is_same_v<T, numerics::BF16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  } else {
    static_assert(std::is_same_v<T, numerics::F16>);
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  }
  return word;
}

// ---- Tensor cores -------------------------------------------------------------------------------

template <class T>
FORGE_DEVICE MatrixA load_matrix4(const T* row) {
  MatrixA a;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a.words[0]), "=r"(a.words[1]), "=r"(a.words[2]), "=r"(a.words[3])
               : "r"(shared_address(row))
               : "memory");
  return a;
}
template <class T>
FORGE_DEVICE MatrixA load_matrix4_transposed(const T* row) {
  MatrixA a;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a.words[0]), "=r"(a.words[1]), "=r"(a.words[2]), "=r"(a.words[3])
               : "r"(shared_address(row))
               : "memory");
  return a;
}

#define FORGE_MATRIX_STEP(instruction, constraint)                                           \
  asm(instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                   \
      : "+" constraint(d.at[0]), "+" constraint(d.at[1]), "+" constraint(d.at[2]),           \
        "+" constraint(d.at[3])                                                              \
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]), \
        "r"(b.words[1]))

template <class T>
FORGE_DEVICE MatrixSum<SumOf<T>> matrix_step(const MatrixA& a, const MatrixB& b,
                                             MatrixSum<SumOf<T>> d) {
  if constexpr (std::is_same_v<T, numerics::BF16>) {
    FORGE_MATRIX_STEP("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "f");
  } else if constexpr (std::is_same_v<T, numerics::F16>) {
    FORGE_MATRIX_STEP("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f");
  } else {
    static_assert(std::is_same_v<T, std::int8_t>);
    FORGE_MATRIX_STEP("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "r");
  }
  return d;
}
#undef FORGE_MATRIX_STEP

}  // namespace forge::simt
