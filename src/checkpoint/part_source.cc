// Some rows of a matrix in a tensor of several: Q, K and V of Phi-3, or gate and up.
//
// Rows that follow one another in the file are borrowed, as are codes of 8 bits. What lies column
// by column, or belongs to blocks that reach into two of the matrices, is copied.
#include <variant>

#include "forge/core/check.h"
#include "forge/linear/matrix_rows.h"
#include "tensor_source.h"

namespace forge::checkpoint::detail {
namespace {

using linear::StoredGroups;
using linear::StoredLinear;
using Packing = StoredGroups::Packing;

/// How many rows a copy can begin and end at: those of a word.
int step_of(const StoredLinear& whole) {
  const auto* const groups = std::get_if<StoredGroups>(&whole.form);
  if (groups == nullptr || (groups->packing == Packing::rows && groups->zeros == nullptr)) return 1;
  return groups->packing == Packing::rows ? groups->codes_of_word() : 8;
}

}  // namespace

StoredLinear TensorSource::part(const StoredLinear& whole, const TensorName& name, int outputs) {
  if (failed()) return {};
  const int first = name.rows->first;
  const int step = step_of(whole);
  const std::string layer = layer_of(name.name);
  if (first % step != 0 || outputs % step != 0) {
    const bool is_packed = file_.find(layer + ".weight_packed") != nullptr;
    const std::string codes = layer + (is_packed ? ".weight_packed" : ".qweight");
    fail(codes, file_.find(codes),
         "a multiple of " + std::to_string(step) + " rows in each matrix of it; one has rows " +
             std::to_string(first) + " .. " + std::to_string(first + outputs - 1));
    return {};
  }
  // A copy is no place in a file, so bad scales are found while the place is known.
  const formats::Tensor* const scales = file_.find(layer + ".scales");
  if (step > 1 && scales != nullptr) scale_floats(*scales, ScaleRange::any_sign);
  linear::ThreadPool here(1);
  linear::MatrixRows rows;
  const auto read = rows.read(whole, first, outputs, linear::MemoryReader(), here);
  FORGE_CHECK(read.has_value(), "memory has no faults");
  StoredLinear matrix = rows.matrix();
  rows.give_up(copies_, scales_);
  return matrix;
}

}  // namespace forge::checkpoint::detail
