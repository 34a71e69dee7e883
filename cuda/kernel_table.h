// The kernels of cuda/kernels as nvcc has compiled them.
#pragma once

#include "forge/gpu/kernels.h"

namespace forge::cuda {

/// What cudaLaunchKernelExC and cudaFuncGetAttributes take for `kernel`.
const void* kernel_entry(gpu::KernelId kernel);

}  // namespace forge::cuda
