#include "device_pass.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {

ChunkShape ChunkShape::of(const PassChunk& chunk) {
  return {chunk.counts, (chunk.longest_decode + numerics::kKeyChunk - 1) / numerics::kKeyChunk};
}

void project(const DevicePass& pass, const RowCount& rows, const float* x,
             const DeviceMatrix& matrix, const Output& to) {
  pass.queue.launch(ProjectArgs{.row_count = rows.on_device,
                                .x = x,
                                .panels = matrix.panels,
                                .y = to.y,
                                .inputs = matrix.inputs,
                                .outputs = matrix.outputs,
                                .accumulate = to.accumulate,
                                .bias = matrix.bias,
                                .multiplier = to.multiplier},
                    rows.most);
}

}  // namespace forge::gpu
