// How products of fast numerics are queued (tensor_product.h): what FastLayers and FastExperts
// share.
//
// Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "capacity.h"
#include "device_pass.h"
#include "forge/gpu/kernels/tensor_product.h"

namespace forge::gpu {

/// The rows that a product reads, and their norm.
struct FastRows {
  const void* h;
  RowNorm norm = {};
};

/// Rows of numbers of 16 bits.
Buffer halves(Allocator& allocator, std::uint64_t rows, int width, const char* name);

/// Of a matrix in rows, or matrices, which are one section.
template <class Matrix>
numerics::HalfType type_of(const Matrix& matrix) {
  return matrix.sections.front().kind == linear::PanelKind::f16_rows ? numerics::HalfType::f16
                                                                     : numerics::HalfType::bf16;
}

/// The product of rows with a matrix. What becomes of it is the caller's.
TensorProduct product(const RowCount& rows, const FastRows& x, const DeviceMatrix& matrix);

/// Whether a thread block finds room on the device, with dynamic shared memory beside what its
/// kernel declares.
bool has_room(const BlockResources& block, int dynamic_bytes, const Capacity& capacity);

class FastProducts {
 public:
  explicit FastProducts(const Capacity& capacity);

  /// By the kernel that is made for so many rows, with blocks that find room. The bits are the
  /// same.
  void multiply(const DevicePass& pass, const TensorProduct& product) const;

 private:
  bool has_large_;  // whether there is room for large blocks of project_wide
};

}  // namespace forge::gpu
