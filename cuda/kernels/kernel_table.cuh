// The kernels of this build, by gpu::KernelId: entries for the simulated machine if a host compiler
// reads this page, for the CUDA runtime if nvcc does.
#pragma once

#include <array>

#include "kernels.cuh"

namespace FORGE_KERNELS {

inline auto kernel_table() {
  const std::array table{
      FORGE_KERNEL_ENTRY(update_tables), FORGE_KERNEL_ENTRY(copy_blocks),
      FORGE_KERNEL_ENTRY(embed),         FORGE_KERNEL_ENTRY(rms_norm),
      FORGE_KERNEL_ENTRY(project),       FORGE_KERNEL_ENTRY(rotate_and_store),
      FORGE_KERNEL_ENTRY(attend_decode), FORGE_KERNEL_ENTRY(attend_split),
      FORGE_KERNEL_ENTRY(attend_merge),  FORGE_KERNEL_ENTRY(attend_prompt),
      FORGE_KERNEL_ENTRY(silu_multiply), FORGE_KERNEL_ENTRY(sample),
      FORGE_KERNEL_ENTRY(digest_logits),
  };
  static_assert(table.size() == gpu::kKernelNames.size());
  return table;
}

}  // namespace FORGE_KERNELS
