#include <array>

#include "kernel_chain.h"

namespace forge::sim {

// Shared memory is what the kernels declare; a test holds it to what they are seen to declare.
// Registers are what nvcc 13.0 takes for sm_90: `nvcc -cubin -Xptxas -v`.
BlockResources resources_of(const gpu::KernelLaunch& launch) {
  constexpr std::array<BlockResources, gpu::kKernelNames.size()> kResources{{
      {0, 12},       // update_tables
      {0, 32},       // copy_blocks
      {0, 18},       // embed
      {0, 64},       // rms_norm
      {24576, 72},   // project
      {0, 56},       // rotate_and_store
      {10304, 80},   // attend_decode
      {10304, 80},   // attend_split
      {0, 32},       // attend_merge
      {18560, 128},  // attend_prompt
      {0, 24},       // silu_multiply
      {512, 32},     // sample
      {0, 33},       // digest_logits
  }};
  return kResources[static_cast<std::size_t>(launch.kernel)];
}

}  // namespace forge::sim
