#include "device_pass.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {

SlabShape SlabShape::of(const Slab& slab) {
  return {slab.counts, (slab.longest_decode + numerics::kKeySegment - 1) / numerics::kKeySegment,
          slab.processes};
}

const RowGroup* code_rows(const DevicePass& pass, const RowCount& rows, const Vectors& x,
                          int inputs, const DeviceSection& section) {
  if (!linear::has_codes(section.kind)) return nullptr;
  pass.queue.launch(CodeRowsArgs{.row_count = rows.on_device,
                                 .x = x.x,
                                 .coded = pass.coded_rows,
                                 .inputs = inputs,
                                 .vectors = x.vectors,
                                 .x_stride = x.stride,
                                 .order = section.order},
                    rows.most);
  return pass.coded_rows;
}

void project(const DevicePass& pass, const RowCount& rows, const float* x,
             const DeviceMatrix& matrix, const Output& to) {
  for (const DeviceSection& section : matrix.sections) {
    const int first = section.first_output;
    const RowGroup* const coded = code_rows(pass, rows, {x}, matrix.inputs, section);
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
  }
}

}  // namespace forge::gpu
