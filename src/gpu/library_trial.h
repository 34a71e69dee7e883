// How a library of matrix products is tried (forge/gpu/matrix_library.h).
//
//   for each size N x K
//     for cancelling, then for spread numbers (probe_numbers.h)
//       all rows by project_wide, and 64 bits of each row of sums (digest_logits)
//       for each number of rows, 16, 32, ... and each algorithm that is left
//         the sums are overwritten with other numbers; the library multiplies; the same 64 bits
//   admitted: the first algorithm left for each number of rows
//
// Rows do not depend on one another in project_wide, so all numbers of rows are compared with one
// product. A library that leaves sums unwritten, drops the last inputs, or adds them up in another
// order has other bits in some row.
#pragma once

#include <tl/expected.hpp>
#include <vector>

#include "forge/gpu/device.h"

namespace forge::gpu {

/// A matrix [N][K], and of how many rows a product with it has at most.
struct MatrixSize {
  int outputs;
  int inputs;
  int rows_max;

  friend bool operator==(const MatrixSize&, const MatrixSize&) = default;
};

/// Tries `library`, which is the device's, for products with matrices of these sizes. Returns once
/// its memory is free again. Errors: those of the device; what fails in the library alone is a
/// refusal.
tl::expected<LibraryReport, DeviceError> try_library(Device& device, MatrixLibrary& library,
                                                     const std::vector<MatrixSize>& sizes,
                                                     numerics::HalfType type);

}  // namespace forge::gpu
