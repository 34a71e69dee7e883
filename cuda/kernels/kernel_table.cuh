// The kernels of this build, by gpu::KernelId: entries for the simulated machine if a host compiler
// reads this page, for the CUDA runtime if nvcc does.
#pragma once

#include <array>

#include "forge/gpu/kernels.h"
#include "kernels.cuh"

namespace FORGE_KERNELS {

inline auto kernel_table() {
  return std::array{
#define FORGE_ENTRY(name, Args) FORGE_KERNEL_ENTRY(name),
      FORGE_FOR_EACH_KERNEL(FORGE_ENTRY)
#undef FORGE_ENTRY
  };
}

}  // namespace FORGE_KERNELS
