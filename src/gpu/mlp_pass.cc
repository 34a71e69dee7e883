#include "mlp_pass.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {

MlpPass::MlpPass(int size, const Capacity& capacity, Allocator& allocator) {
  gate_up_ = allocator.rows(capacity.slab_rows, 2 * size, "gate and up");
  gated_ = allocator.rows(capacity.slab_rows, size, "gated");
}

void MlpPass::run(const DevicePass& pass, const DeviceMlp& weights, const float* x,
                  const Output& to) const {
  project(pass, pass.all_rows(), x, weights.gate_up, {.y = gate_up_.as<float>()});
  pass.queue.launch(GluArgs{.counts = pass.counts,
                            .gate_up = gate_up_.as<float>(),
                            .gated = gated_.as<float>(),
                            .size = weights.down.inputs,
                            .function = weights.glu},
                    pass.all_rows().most);
  project(pass, pass.all_rows(), gated_.as<float>(), weights.down, to);
}

}  // namespace forge::gpu
