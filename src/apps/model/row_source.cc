#include "row_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <vector>

#include "forge/quant/dequantize.h"

namespace forge::apps {
namespace {

using quant::WeightType;

/// The stored bytes of a row, if they are of `type`; otherwise empty.
std::span<const std::byte> bytes_if(const linear::StoredLinear& matrix, int row, WeightType type,
                                    std::size_t row_bytes) {
  const auto* const rows = std::get_if<linear::StoredRows>(&matrix.form);
  if (rows == nullptr || rows->type != type) return {};
  return {rows->rows + static_cast<std::size_t>(row) * row_bytes, row_bytes};
}

/// The columns of a matrix, one after the other.
std::vector<float> columns_of(const linear::StoredLinear& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.outputs);
  const auto width = static_cast<std::size_t>(matrix.inputs);
  std::vector<float> row(width);
  std::vector<float> columns(width * rows);
  for (std::size_t n = 0; n < rows; ++n) {
    stored_row(matrix, static_cast<int>(n), row.data());
    for (std::size_t k = 0; k < width; ++k) columns[k * rows + n] = row[k];
  }
  return columns;
}

/// Of a vector.
std::vector<float> floats_of(const OutputTensor& tensor, const SourceRow& source) {
  std::vector<float> floats(static_cast<std::size_t>(tensor.row_elements()));
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const int from = source_row(tensor.order, tensor.head_size, static_cast<int>(i));
    floats[i] = source.part->vector[static_cast<std::size_t>(from)];
  }
  return floats;
}

/// Above which a finite number would be rounded to infinity.
float largest(WeightType type) {
  constexpr float kF16Limit = 65520;          // half way between 65504 and 65536
  constexpr float kBF16Limit = 0x1.ffp+127F;  // half way between the largest and 2^128
  if (type == WeightType::f16) return kF16Limit;
  return type == WeightType::bf16 ? kBF16Limit : INFINITY;
}

std::string place(const OutputTensor& tensor, const SourceRow& source, std::size_t column) {
  std::string out = "tensor '" + source.part->name + "' at [";
  if (tensor.is_matrix()) out += std::to_string(source.row) + ", ";
  return out + std::to_string(column) + "]";
}

std::string wrong_number(const OutputTensor& tensor, const SourceRow& source, std::size_t column,
                         float value) {
  std::ostringstream out;
  out << place(tensor, source, column) << " is " << value << "; accepted are finite numbers";
  const WeightType type = *formats::weight_type(tensor.spec.type);
  if (std::isfinite(value)) out << " below " << largest(type) << " for " << name_of(type);
  return out.str();
}

}  // namespace

void StoredRowSource::begin(const OutputTensor& tensor) {
  for (const ModelPart& part : tensor.parts) {
    if (part.matrix != nullptr) checkpoint_.will_read(*part.matrix);
    if (part.transposed) columns_.emplace(&part, columns_of(*part.matrix));
  }
}

void StoredRowSource::end(const OutputTensor& tensor) {
  for (const ModelPart& part : tensor.parts) {
    if (part.matrix != nullptr) checkpoint_.done_with(*part.matrix);
  }
  columns_.clear();
}

std::vector<float> StoredRowSource::floats_of_row(const OutputTensor& tensor,
                                                  const SourceRow& source) const {
  if (source.part->matrix == nullptr) return floats_of(tensor, source);
  const auto width = static_cast<std::size_t>(tensor.row_elements());
  if (source.part->transposed) {
    const auto first =
        columns_.at(source.part).begin() + static_cast<std::ptrdiff_t>(width) * source.row;
    return {first, first + static_cast<std::ptrdiff_t>(width)};
  }
  std::vector<float> floats(width);
  stored_row(*source.part->matrix, source.row, floats.data());
  return floats;
}

tl::expected<quant::QuantizationError, std::string> StoredRowSource::write(
    const OutputTensor& tensor, std::uint64_t row, std::span<std::byte> out) const {
  const SourceRow source = source_of(tensor, row);
  const WeightType type = *formats::weight_type(tensor.spec.type);
  std::span<const std::byte> stored;
  if (source.part->matrix != nullptr && !source.part->transposed) {
    stored = bytes_if(*source.part->matrix, source.row, type, out.size());
  }
  if (!stored.empty()) {
    std::copy(stored.begin(), stored.end(), out.begin());
    return quant::QuantizationError{.count = static_cast<std::size_t>(tensor.row_elements())};
  }
  const std::vector<float> floats = floats_of_row(tensor, source);
  const float limit = largest(type);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const bool fits = std::isfinite(floats[i]) && std::abs(floats[i]) < limit;
    if (!fits) return tl::unexpected(wrong_number(tensor, source, i, floats[i]));
  }
  return quant::quantize(type, floats, out.data());
}

}  // namespace forge::apps
