#include "kernel_table.cuh"
#include "kernel_table.h"

namespace forge::cuda {

const void* kernel_entry(gpu::KernelId kernel) {
  static const auto table = FORGE_KERNELS::kernel_table();
  return table[static_cast<std::size_t>(kernel)];
}

}  // namespace forge::cuda
