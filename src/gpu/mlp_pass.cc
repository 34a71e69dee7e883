#include "mlp_pass.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
MlpPass::MlpPass(int size, const Capacity& capacity, Allocator& allocator) {
  const std::uint64_t gated = std::uint64_t{capacity.slab_rows} * static_cast<std::uint64_t>(size);
  gate_up_ = allocator.take<float>(MemoryKind::device, 2 * gated, "gate and up");
  gated_ = allocator.take<float>(MemoryKind::device, gated, "gated");
}

void MlpPass::run(const DevicePass& pass, const DeviceMlp& weights, const float* x,
                  const Output& to) const {
  project(pass, pass.all_rows(), x, weights.gate_up, {.y = gate_up_.as<float>()});
  pass.queue.launch(SiluMultiplyArgs{.counts = pass.counts,
                                     .gate_up = gate_up_.as<float>(),
                                     .gated = gated_.as<float>(),
                                     .size = weights.down.inputs},
                    pass.all_rows().most);
  project(pass, pass.all_rows(), gated_.as<float>(), weights.down, to);
}

}  // namespace forge::gpu
