// LibraryProducts: products of many rows by the library of the device, as far as it has been
// admitted (forge/gpu/matrix_library.h): sums by the library, and finish_product.
//
// Algorithms are admitted for certain numbers of rows. Rows are cut into such pieces, the largest
// first. Of up to 256 rows the weights take longer to come than to be multiplied, so these are one
// piece, the smallest that has them all: it begins earlier, and the rows that it shares with the
// piece before get the same bits twice; or it has more rows than there are, and nobody looks at
// their sums:
//
//   700 rows:    0 ........ 511 |                 24 rows:    0 .. 31
//                       444 ........ 699
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

/// The matrices of the model whose products are left to a library where they can be, with so many
/// rows in a layer: not those of experts and of heads, which are many small ones. The head has as
/// many rows as the sums of a layer leave it room for.
std::vector<MatrixSize> library_sizes(const GpuModel& model, int rows_max);

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
  /// The one for the most rows up to `most`, for the fewest from `least` on, or null.
  const LibraryReport::Admission* largest(const TensorProduct& product, int most) const;
  const LibraryReport::Admission* smallest(const TensorProduct& product, int least) const;
  /// That of the next piece, where `left` rows are left, and there is room for `room` in all.
  const LibraryReport::Admission* next_piece(const TensorProduct& product, int left,
                                             int room) const;

  std::vector<LibraryReport::Admission> admitted_;  ///< ascending by rows
  int rows_max_;                                    ///< that x has room for
  Buffer sums_;                                     ///< [rows][N] of any of the matrices, or none
};

}  // namespace forge::gpu
