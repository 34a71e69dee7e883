#include "fast_products.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {

Buffer halves(Allocator& allocator, std::uint64_t rows, int width, const char* name) {
  return allocator.take<std::uint16_t>(MemoryKind::device, rows * static_cast<std::uint64_t>(width),
                                       name);
}

TensorProduct product(const RowCount& rows, const FastRows& x, const DeviceMatrix& matrix) {
  return {.row_count = rows.on_device,
          .rows_max = static_cast<int>(rows.most),
          .x = x.h,
          .weights = matrix.sections.front().panels,
          .inputs = matrix.inputs,
          .outputs = matrix.outputs,
          .type = type_of(matrix),
          .norm = x.norm,
          .bias = matrix.bias};
}

bool has_room(const BlockResources& block, int dynamic_bytes, const Capacity& capacity) {
  const int bytes = block.shared_bytes + dynamic_bytes;
  return static_cast<std::uint64_t>(bytes) <= capacity.shared_bytes;
}

FastProducts::FastProducts(const Capacity& capacity)
    : has_large_(has_room(ProjectWideArgs::kResources,
                          ProjectWideArgs{.kind = WideKind::large}.shape().shared_bytes,
                          capacity)) {}

void FastProducts::multiply(const DevicePass& pass, const TensorProduct& product) const {
  if (product.rows_max <= kNarrowRowsMax) {
    pass.queue.launch(ProjectNarrowArgs{product});
    return;
  }
  ProjectWideArgs wide{product};
  if (wide.kind == WideKind::large && !has_large_) wide.kind = WideKind::small;
  pass.queue.launch(wide);
}

}  // namespace forge::gpu
