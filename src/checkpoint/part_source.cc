// Some rows of a matrix in a tensor of several: Q, K and V of Phi-3, or gate and up.
//
// Rows that follow one another in the file are borrowed, as are codes of 8 bits. What lies column
// by column, or belongs to blocks that reach into two of the matrices, is copied.
#include <algorithm>
#include <variant>

#include "forge/quant/dequantize.h"
#include "tensor_source.h"

namespace forge::checkpoint::detail {
namespace {

using linear::StoredFloat8;
using linear::StoredGroups;
using linear::StoredInt8;
using linear::StoredLinear;
using linear::StoredRows;
using Packing = StoredGroups::Packing;

std::size_t size(int number) { return static_cast<std::size_t>(number); }

/// Numbers first .. first + count - 1 of each of `rows` rows; all in units of `bytes` bytes.
struct Columns {
  int rows;
  int all;
  int first;
  int count;
  std::size_t bytes;
};
std::vector<std::byte> copy_of(const std::byte* from, const Columns& columns) {
  std::vector<std::byte> out;
  out.reserve(size(columns.rows) * size(columns.count) * columns.bytes);
  for (int row = 0; row < columns.rows; ++row) {
    const std::byte* const start =
        from + (size(row) * size(columns.all) + size(columns.first)) * columns.bytes;
    out.insert(out.end(), start, start + size(columns.count) * columns.bytes);
  }
  return out;
}

/// How many rows a copy can begin and end at: those of a word.
int step_of(const StoredLinear& whole) {
  const auto* const groups = std::get_if<StoredGroups>(&whole.form);
  if (groups == nullptr || (groups->packing == Packing::rows && groups->zeros == nullptr)) return 1;
  return groups->packing == Packing::rows ? groups->codes_of_word() : 8;
}

}  // namespace

StoredLinear TensorSource::part(const StoredLinear& whole, const TensorName& name, int outputs) {
  if (failed()) return {};
  const Part part{whole.outputs, whole.inputs, name.rows->first, outputs};
  const int step = step_of(whole);
  const std::string layer = layer_of(name.name);
  if (part.first % step != 0 || part.count % step != 0) {
    const bool is_packed = file_.find(layer + ".weight_packed") != nullptr;
    const std::string codes = layer + (is_packed ? ".weight_packed" : ".qweight");
    fail(codes, file_.find(codes),
         "a multiple of " + std::to_string(step) + " rows in each matrix of it; one has rows " +
             std::to_string(part.first) + " .. " + std::to_string(part.first + part.count - 1));
    return {};
  }
  // A copy is no place in a file, so bad scales are found while the place is known.
  const formats::Tensor* const scales = file_.find(layer + ".scales");
  if (step > 1 && scales != nullptr) scale_floats(*scales, ScaleRange::any_sign);
  return {outputs, whole.inputs,
          std::visit(
              [&](const auto& form) -> decltype(StoredLinear::form) { return part_of(form, part); },
              whole.form)};
}

StoredRows TensorSource::part_of(const StoredRows& whole, const Part& part) {
  return {whole.type,
          whole.rows + size(part.first) * *quant::bytes_of(whole.type, size(part.inputs))};
}

StoredInt8 TensorSource::part_of(const StoredInt8& whole, const Part& part) {
  return {whole.codes + size(part.first) * size(part.inputs),
          whole.scales.subspan(size(part.first), size(part.count))};
}

/// A block may reach into two matrices: each row gets its own scales.
StoredFloat8 TensorSource::part_of(const StoredFloat8& whole, const Part& part) {
  const int blocks = (part.inputs + whole.block_columns - 1) / whole.block_columns;  // of a row
  std::vector<float>& scales = scales_.emplace_back();
  for (int row = part.first; row < part.first + part.count; ++row) {
    const auto from =
        whole.scales.subspan(size(row / whole.block_rows) * size(blocks), size(blocks));
    scales.insert(scales.end(), from.begin(), from.end());
  }
  return {whole.codes + size(part.first) * size(part.inputs), scales, 1, whole.block_columns};
}

StoredGroups TensorSource::part_of(const StoredGroups& whole, const Part& part) {
  StoredGroups out = whole;
  const int in_word = whole.codes_of_word();
  const int groups = part.inputs / whole.group_size;
  const Columns outputs{groups, part.outputs, part.first, part.count, 4};
  const Columns words{groups, part.outputs / in_word, part.first / in_word, part.count / in_word,
                      4};
  const auto copy = [&](const std::byte* from, Columns columns) {
    return copies_.emplace_back(copy_of(from, columns)).data();
  };
  Columns scales = outputs;
  scales.bytes = quant::block_bytes(whole.scale_type);
  out.scales = copy(whole.scales, scales);
  if (whole.zeros != nullptr) out.zeros = copy(whole.zeros, words);
  Columns codes = whole.packing == Packing::awq ? words : outputs;
  codes.rows = whole.packing == Packing::awq ? part.inputs : part.inputs / in_word;
  if (whole.packing == Packing::rows) {
    out.codes = whole.codes + size(part.first) * size(part.inputs / in_word) * 4;
  } else {
    out.codes = copy(whole.codes, codes);
  }
  return out;
}

}  // namespace forge::checkpoint::detail
