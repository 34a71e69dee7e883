// MatrixLibrary: products by a library of the device's vendor (cuBLASLt), which has kernels for
// instructions that ours do without.
//
//   sums [rows][N] = x [rows][K] x weights [N][K]^T      floats, of numbers of 16 bits
//
// A library chooses kernel, tile and order of sums by the shape and by its version, and promises
// equal results only for equal calls. Fast numerics promise more (numerics/tensor_product.h): a
// row's sums have the same bits in every shape. So no algorithm of a library is trusted. Each is
// tried at the shape for which it is wanted, on data that tell orders apart, and has to leave the
// bits of project_wide; then it is admitted, for this shape, library and device, until the program
// ends. "Equal by probe" is the word: a trial proves nothing about other data. What came of the
// trials is a LibraryReport, part of a trace's header.
//
// Who tries: src/gpu/library_trial.h. Who then multiplies: Stream::multiply(), and finish_product,
// which makes of the sums what our kernels make of theirs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/numerics/half.h"

namespace forge::gpu {

struct DeviceError;

/// Rows from which products are left to a library.
inline constexpr int kLibraryRowsMin = 16;

struct LibraryShape {
  int rows;
  int outputs;  ///< N
  int inputs;   ///< K
  numerics::HalfType type;

  friend bool operator==(const LibraryShape&, const LibraryShape&) = default;
};
/// "512 x 4096 x 14336 bf16": rows, outputs, inputs, type.
std::string to_string(const LibraryShape& shape);

/// A way of a library to compute products of a shape.
struct LibraryAlgorithm {
  std::string name;                     ///< as the library tells it from others: kernel, tile, ...
  std::array<std::uint64_t, 8> opaque;  ///< what the library knows it by
};

/// x, weights and sums begin on multiples of 16 bytes.
struct LibraryProduct {
  LibraryShape shape;
  const LibraryAlgorithm* algorithm;  ///< of algorithms(shape)
  const void* x;
  const void* weights;
  float* sums;
};

class MatrixLibrary {
 public:
  virtual ~MatrixLibrary() = default;
  /// With its version: "cuBLASLt 13.1.0".
  virtual std::string name() const = 0;
  /// Those for a shape that need no memory of their own and do not say that they add up parts of K,
  /// the library's favourite first; at most `most`. Errors: the library fails.
  virtual tl::expected<std::vector<LibraryAlgorithm>, DeviceError> algorithms(
      const LibraryShape& shape, int most) = 0;
};

/// What came of trying a library.
struct LibraryReport {
  struct Refusal {
    LibraryShape shape;
    std::string algorithm;
    std::string reason;  ///< "other sums in 3 of 128 rows of cancelling numbers"
  };
  struct Admission {
    LibraryShape shape;
    LibraryAlgorithm algorithm;
  };
  std::string library;              ///< its name; empty: none was tried
  std::string missing;              ///< then why
  std::vector<Admission> admitted;  ///< one for a shape, at most
  std::vector<Refusal> refused;
};

/// "512 x 4096 x 14336 bf16: tile 128x256, ...", and with the reason after another colon.
std::string to_string(const LibraryReport::Admission& admission);
std::string to_string(const LibraryReport::Refusal& refusal);

}  // namespace forge::gpu
