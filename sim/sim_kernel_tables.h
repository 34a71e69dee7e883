// The builds of the kernels of cuda/kernels for the simulated machine.
#pragma once

#include <array>
#include <optional>

#include "forge/gpu/kernels.h"
#include "forge/simt/machine.h"

namespace forge::sim {

using KernelEntries = std::array<simt::Entry, gpu::kKernelNames.size()>;  ///< by gpu::KernelId

KernelEntries plain_kernels();
/// The plain kernels compiled for processors with a fused multiply-add: the same bits, but faster.
/// None where the processor cannot run them.
std::optional<KernelEntries> fma_kernels();
KernelEntries instrumented_kernels();

}  // namespace forge::sim
