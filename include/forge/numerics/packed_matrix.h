// The matrix product y = x W^T whose bits do not depend on the batch.
//
// A BLAS picks kernel, tile and order by shape: one row alone and the same row among
// 64 differ in most elements (Eigen and OpenBLAS both). Here each element of y is
// product_reference (canonical.h) of a row of x and a row of W: explicit fma, ascending k, in
// chunks of 256 that are added in order. Speed comes from computing many such chains
// side by side: W is packed once, and SIMD lanes run across outputs.
//
// Legend: M rows of x (tokens), K inputs, N outputs.
//
// Layout of the packed weights, kPanelWidth = 32: panel p holds outputs [32 p, 32 p + 32), zero
// padded, k-major, so that one step along k reads 128 contiguous bytes:
//
//   panel 0:  W[0][0] W[1][0] ... W[31][0] | W[0][1] W[1][1] ... W[31][1] | ... k = K-1
//   panel 1:  W[32][0] ...
//
// Invariants: 1. storage is 64-byte aligned. 2. A PackedMatrix never changes after construction, so
// any number of threads may multiply by it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace forge::numerics {

inline constexpr int kPanelWidth = 32;

class PackedMatrix {
 public:
  /// An empty matrix, 0 x 0.
  PackedMatrix() = default;

  /// Packs `weights` [outputs][inputs], row-major as checkpoints store a linear layer. Copies;
  /// borrows nothing. Requires: outputs >= 0, inputs >= 0.
  PackedMatrix(const float* weights, int outputs, int inputs);

  int inputs() const { return inputs_; }
  int outputs() const { return outputs_; }
  int panels() const { return (outputs_ + kPanelWidth - 1) / kPanelWidth; }

  /// First of the inputs() * kPanelWidth floats of panel `index`.
  const float* panel(int index) const {
    return storage_.get() + static_cast<std::ptrdiff_t>(index) * inputs_ * kPanelWidth;
  }

  /// W[output][input], for tests and definitions.
  float weight(int output, int input) const {
    return panel(
        output /
        kPanelWidth)[static_cast<std::ptrdiff_t>(input) * kPanelWidth + output % kPanelWidth];
  }

 private:
  struct AlignedDelete {
    void operator()(float* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };

  int outputs_ = 0;
  int inputs_ = 0;
  std::unique_ptr<float[], AlignedDelete> storage_;
};

/// y = x W^T. x [rows][K] and y [rows][N], contiguous, row-major, of any alignment, not
/// overlapping. Row r of y depends on row r of x alone, in every bit. K = 0 gives zeros. Allocates
/// nothing. O(rows K N). Requires: rows >= 0.
void multiply(const float* x, int rows, const PackedMatrix& w, float* y);

/// The definition of `multiply`: product_reference for each element. Equal bits, no speed.
void multiply_reference(const float* x, int rows, const PackedMatrix& w, float* y);

}  // namespace forge::numerics
