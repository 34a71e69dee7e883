// How products of fast numerics are queued (tensor_product.h): what FastLayers and FastExperts
// share.
//
// Thread contract: none of its own.
#pragma once

#include <cstdint>

#include "capacity.h"
#include "device_pass.h"
#include "forge/gpu/kernels/code_product.h"
#include "forge/gpu/kernels/project_wide.h"
#include "forge/gpu/kernels/tensor_product.h"

namespace forge::gpu {

/// The rows that a product reads, and their norm.
struct FastRows {
  const void* h;
  RowNorm norm = {};
};

/// Rows of numbers of 16 bits.
Buffer halves(Allocator& allocator, std::uint64_t rows, int width, const char* name);

/// Whether a thread block finds room on a device that has so much for one, with dynamic shared
/// memory beside what its kernel declares.
bool has_room(const BlockResources& block, int dynamic_bytes, std::uint64_t shared_bytes);

class FastProducts {
 public:
  /// type: of the rows that products read and write.
  FastProducts(numerics::HalfType type, const Capacity& capacity)
      : type_(type), shared_bytes_(capacity.shared_bytes) {}

  numerics::HalfType type() const { return type_; }

  /// The product of rows with a matrix. What becomes of it is the caller's; of a matrix of several
  /// sections (device_weights.h) it is y.
  TensorProduct of(const RowCount& rows, const FastRows& x, const DeviceMatrix& matrix) const;

  /// y [rows][N] = the product of all rows of the pass, in floats.
  void project(const DevicePass& pass, const FastRows& x, const DeviceMatrix& matrix,
               float* y) const {
    TensorProduct product = of(pass.all_rows(), x, matrix);
    product.y = y;
    multiply(pass, product, matrix);
  }

  /// By the kernels that are made for so many rows. The bits are the same. With codes, the rows are
  /// rounded to 8 bits before.
  void multiply(const DevicePass& pass, const TensorProduct& product,
                const DeviceMatrix& matrix) const;

 private:
  void multiply_section(const DevicePass& pass, const TensorProduct& product) const;
  void multiply_section(const DevicePass& pass, const CodeProduct& codes) const;

  numerics::HalfType type_;
  std::uint64_t shared_bytes_;  ///< of a thread block, the most
};

}  // namespace forge::gpu
