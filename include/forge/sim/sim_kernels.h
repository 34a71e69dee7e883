// The kernels of cuda/kernels, compiled for the simulated machine: plain and instrumented.
#pragma once

#include "forge/gpu/kernels.h"
#include "forge/simt/machine.h"

namespace forge::sim {

simt::KernelCode kernel_code(gpu::KernelId kernel);

}  // namespace forge::sim
