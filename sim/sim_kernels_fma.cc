// The plain build once more, for processors that have a fused multiply-add: without it each fma of
// a kernel is a call into the C library, and kernels take two to four times as long.
//
// Only the kernels are compiled for such a processor. What they inline comes along; what they call
// stays as everybody else has it, since the linker keeps one copy for the whole program.
#include "forge/executor/logits_digest.h"
#include "forge/numerics/attention.h"
#include "forge/sampling/gumbel.h"
#include "forge/simt/dialect.h"
#include "sim_kernel_tables.h"

#if defined(__x86_64__)

#undef FORGE_KERNELS
#define FORGE_KERNELS forge::kernels::fma

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("fma,avx2"))), apply_to = function)
#include "kernels.cuh"
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("fma,avx2")
#include "kernels.cuh"
#pragma GCC pop_options
#endif
#include "kernel_table.cuh"

namespace forge::sim {

std::optional<KernelEntries> fma_kernels() {
  if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2")) return {};
  return kernels::fma::kernel_table();
}

}  // namespace forge::sim

#else

namespace forge::sim {

std::optional<KernelEntries> fma_kernels() { return {}; }

}  // namespace forge::sim

#endif
