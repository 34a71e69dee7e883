#include "fast_products.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {

Buffer halves(Allocator& allocator, std::uint64_t rows, int width, const char* name) {
  return allocator.take<std::uint16_t>(MemoryKind::device, rows * static_cast<std::uint64_t>(width),
                                       name);
}

bool has_room(const BlockResources& block, int dynamic_bytes, std::uint64_t shared_bytes) {
  const int bytes = block.shared_bytes + dynamic_bytes;
  return static_cast<std::uint64_t>(bytes) <= shared_bytes;
}

TensorProduct FastProducts::of(const RowCount& rows, const FastRows& x,
                               const DeviceMatrix& matrix) const {
  return {.row_count = rows.on_device,
          .rows_max = static_cast<int>(rows.most),
          .x = x.h,
          .weights = matrix.sections.front().panels,
          .inputs = matrix.inputs,
          .outputs = matrix.outputs,
          .type = type_,
          .norm = x.norm,
          .bias = matrix.bias};
}

void FastProducts::multiply(const DevicePass& pass, const TensorProduct& product,
                            const DeviceMatrix& matrix) const {
  const RowCount rows{product.row_count, static_cast<std::uint32_t>(product.rows_max)};
  const Vectors x{.halves = product.x, .type = type_};
  for_each_section(pass, rows, x, matrix, [&](const DeviceSection& section, const RowGroup* coded) {
    TensorProduct of_section = product;
    of_section.weights = section.panels;
    if (matrix.sections.size() > 1) {
      of_section.outputs = section.outputs;
      of_section.y += section.first_output;
      of_section.y_stride = matrix.outputs;
      if (matrix.bias != nullptr) of_section.bias += section.first_output;
    }
    if (coded == nullptr) return multiply_section(pass, of_section);
    of_section.x = coded;
    multiply_section(pass, CodeProduct{of_section, section.kind});
  });
}

void FastProducts::multiply_section(const DevicePass& pass, const TensorProduct& product) const {
  if (pass.library->multiply(pass.queue, product)) return;
  if (product.rows_max <= kNarrowRowsMax) {
    pass.queue.launch(ProjectNarrowArgs{product});
  } else {
    pass.queue.launch(ProjectWideArgs{product});
  }
}

void FastProducts::multiply_section(const DevicePass& pass, const CodeProduct& codes) const {
  const ProjectCodesFewArgs few{codes};
  if (codes.product.rows_max <= few.kTileRows &&
      has_room(few.kResources, few.shape().shared_bytes, shared_bytes_)) {
    pass.queue.launch(few);
  } else if (codes.product.rows_max <= ProjectCodesNarrowArgs::kTileRows) {
    pass.queue.launch(ProjectCodesNarrowArgs{codes});
  } else {
    pass.queue.launch(ProjectCodesWideArgs{codes});
  }
}

}  // namespace forge::gpu
