// A layer of the base with what its adapters add to it: the arithmetic of lora.h.
#pragma once

#include <cstddef>
#include <map>
#include <tl/expected.hpp>
#include <vector>

#include "forge/checkpoint/file_tensors.h"
#include "forge/linear/thread_pool.h"
#include "forge/quant/weight_type.h"

namespace forge::checkpoint::detail {

/// What one adapter adds to a layer, as floats.
struct LoraTerm {
  std::vector<float> down;  ///< [rank][inputs]
  std::vector<float> up;    ///< [outputs][rank]
  std::size_t rank = 0;
  double factor = 1;
};

/// A matrix of the base with what was added to it: rows of the base's order.
struct MergedMatrix {
  quant::WeightType type = quant::WeightType::f32;
  std::vector<std::byte> rows;
};

/// Those of one tensor, by the matrix that each replaces.
using MergedMatrices = std::map<const linear::StoredLinear*, MergedMatrix>;

/// A number that the type of the base cannot hold.
struct MergeFault {
  std::size_t row = 0;  ///< of the layer, as SafeTensors have it
  std::size_t column = 0;
  double value = 0;
  quant::WeightType type = quant::WeightType::f32;
};

/// The type that a matrix is merged into: its own, or BF16 where it has codes.
quant::WeightType merged_type(const linear::StoredLinear& matrix);

/// `value` as a float, such that rounding that to F16 or BF16 is rounding `value` once: it is
/// rounded towards zero, with the last bit set where anything was lost ("round to odd"). Source:
/// Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
/// rounding to odd", 2008.
float rounded_to_odd(double value);

/// Errors: the first number, by row, that is not finite once it is rounded. Requires: terms have
/// the sizes of the layer, none of whose parts is transposed.
tl::expected<MergedMatrices, MergeFault> merged(const FileTensor& layer,
                                                const std::vector<LoraTerm>& terms,
                                                linear::ThreadPool& pool);

}  // namespace forge::checkpoint::detail
