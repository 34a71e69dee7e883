// The two builds of the kernels of cuda/kernels for the simulated machine.
#pragma once

#include <array>

#include "forge/gpu/kernels.h"
#include "forge/simt/machine.h"

namespace forge::sim {

using KernelEntries = std::array<simt::Entry, gpu::kKernelNames.size()>;  ///< by gpu::KernelId

KernelEntries plain_kernels();
KernelEntries instrumented_kernels();

}  // namespace forge::sim
