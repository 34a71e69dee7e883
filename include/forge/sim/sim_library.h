// SimLibrary: a vendor's library for a simulated device. It computes on the host what a stream asks
// of it. Tests have one whose algorithms are right, and others that lie.
#pragma once

#include "forge/gpu/matrix_library.h"

namespace forge::sim {

class SimLibrary : public gpu::MatrixLibrary {
 public:
  /// Computes a product; a stream calls it when its turn has come. The memory has been checked.
  virtual void multiply(const gpu::LibraryProduct& product) = 0;
};

}  // namespace forge::sim
