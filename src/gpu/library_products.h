// LibraryProducts: products of many rows by the library of the device, as far as it has been
// admitted (forge/gpu/matrix_library.h): sums by the library, and finish_product.
//
// Algorithms are admitted for certain numbers of rows. Rows are cut into such pieces, the largest
// first; the last piece ends at the last row, and the rows that it shares with the piece before get
// the same bits twice:
//
//   700 rows:    0 ........ 511 | 512 .. 639 |
//                                     572 ....... 699
//
// Owns room for the sums. Thread contract: none of its own.
#pragma once

#include <vector>

#include "allocator.h"
#include "capacity.h"
#include "command_queue.h"
#include "forge/gpu/gpu_model.h"
#include "forge/gpu/kernels/tensor_product.h"
#include "library_trial.h"

namespace forge::gpu {

/// The matrices of the model whose products are left to a library where they can be: not those of
/// experts and of heads, which are many small ones, nor the head, which has few rows.
std::vector<MatrixSize> library_sizes(const GpuModel& model);

/// Tries the device's library at the sizes of the models, where they are to use it.
tl::expected<LibraryReport, DeviceError> try_library(Device& device, const GpuModels& models,
                                                     const Capacity& capacity);

class LibraryProducts {
 public:
  LibraryProducts(const GpuModel& model, const Capacity& capacity, Allocator& allocator,
                  const LibraryReport& report);

  /// Queues a product. Returns false, and nothing is queued, if no algorithm is admitted for it.
  bool multiply(CommandQueue& queue, const TensorProduct& product) const;

 private:
  /// The one for the most, and for the fewest rows of up to `rows`, or null.
  const LibraryReport::Admission* largest(const TensorProduct& product, int rows) const;
  const LibraryReport::Admission* smallest(const TensorProduct& product, int rows) const;

  std::vector<LibraryReport::Admission> admitted_;  ///< ascending by rows
  int rows_max_;                                    ///< that x has room for
  Buffer sums_;                                     ///< [rows][N], or none
};

}  // namespace forge::gpu
