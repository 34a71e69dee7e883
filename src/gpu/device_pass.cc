#include "device_pass.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {

SlabShape SlabShape::of(const Slab& slab) {
  const auto segments_of = [](std::uint32_t tokens) {
    return (tokens + numerics::kKeySegment - 1) / numerics::kKeySegment;
  };
  return {.counts = slab.counts,
          .key_segments = segments_of(slab.longest_decode),
          .tile_segments = segments_of(slab.longest_in_tile),
          .tile_rows = slab.tile_rows,
          .logits_use = slab.logits_use};
}

void code_rows(const DevicePass& pass, const RowCount& rows, const Vectors& x, int inputs,
               const DeviceSection& section) {
  pass.queue.launch(CodeRowsArgs{.row_count = rows.on_device,
                                 .x = x.x,
                                 .coded = pass.coded_rows,
                                 .inputs = inputs,
                                 .vectors = x.vectors,
                                 .x_stride = x.stride,
                                 .order = section.order,
                                 .halves = x.halves,
                                 .type = x.type},
                    rows.most);
}

void project(const DevicePass& pass, const RowCount& rows, const float* x,
             const DeviceMatrix& matrix, const Output& to) {
  const auto launch = [&](const DeviceSection& section, const RowGroup* coded) {
    const int first = section.first_output;
    pass.queue.launch(ProjectArgs{.row_count = rows.on_device,
                                  .x = x,
                                  .panels = section.panels,
                                  .y = to.y + first,
                                  .inputs = matrix.inputs,
                                  .outputs = section.outputs,
                                  .accumulate = to.accumulate,
                                  .bias = matrix.bias == nullptr ? nullptr : matrix.bias + first,
                                  .multiplier = to.multiplier,
                                  .y_stride = matrix.outputs,
                                  .kind = section.kind,
                                  .coded = coded,
                                  .cap = to.cap},
                      rows.most);
  };
  for_each_section(pass, rows, {x}, matrix, launch);
}

}  // namespace forge::gpu
