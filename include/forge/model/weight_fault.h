// WeightFault: a number among a model's weights that is not finite, or that is not when it has been
// rounded to 16 bits (PackOptions::rows), found while they are packed.
//
// Products are not defined for such numbers (linear/product.h): with one of them in an embedding or
// a norm, every logit is NaN, and an argmax still picks some token. So they are refused where they
// are read, and named. Checkpoint::error_of gives the place its name in the file.
//
// Pure, thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <tl/expected.hpp>
#include <variant>

#include "forge/linear/stored_linear.h"
#include "forge/linear/thread_pool.h"
#include "forge/linear/weight_reader.h"
#include "forge/numerics/half.h"

namespace forge::model {

struct WeightFault {
  /// The first byte, in the file, of the matrix's rows or codes, or of the scales of its groups.
  const std::byte* numbers = nullptr;
  std::size_t row = 0;  ///< row of the matrix, or group whose scale it is
  std::size_t column = 0;
  float value = 0;        ///< as it is stored
  bool is_scale = false;  ///< it is the scale of the block of numbers at the place
};

/// Why weights cannot be packed.
using PackFault = std::variant<WeightFault, linear::ReadFault>;

/// The first number of `stored` that is not finite, among its floats or the scales of its codes;
/// nullopt if all are finite. Reads all of them with the threads of `pool`. Errors: the reader's.
tl::expected<std::optional<WeightFault>, linear::ReadFault> find_fault(
    const linear::StoredLinear& stored, const linear::WeightReader& reader,
    linear::ThreadPool& pool);

/// The first number of `stored` that is not finite in `type`, as find_fault.
tl::expected<std::optional<WeightFault>, linear::ReadFault> find_overflow(
    const linear::StoredLinear& stored, numerics::HalfType type, const linear::WeightReader& reader,
    linear::ThreadPool& pool);

}  // namespace forge::model
