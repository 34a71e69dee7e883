#include "forge/sim/sim_kernels.h"

#include "sim_kernel_tables.h"

namespace forge::sim {

simt::KernelCode kernel_code(gpu::KernelId kernel) {
  static const KernelEntries kPlain = fma_kernels().value_or(plain_kernels());
  static const KernelEntries kInstrumented = instrumented_kernels();
  const auto index = static_cast<std::size_t>(kernel);
  return {.name = gpu::kKernelNames[index].data(),
          .plain = kPlain[index],
          .instrumented = kInstrumented[index]};
}

}  // namespace forge::sim
