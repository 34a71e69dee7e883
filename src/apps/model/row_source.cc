#include "row_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <vector>

#include "forge/quant/dequantize.h"

namespace forge {
namespace {

using quant::WeightType;

/// The stored bytes of a row, if they are of `type`; otherwise empty.
std::span<const std::byte> bytes_if(const linear::StoredLinear& matrix, int row, WeightType type,
                                    std::size_t row_bytes) {
  const auto* const rows = std::get_if<linear::StoredRows>(&matrix.form);
  if (rows == nullptr || rows->type != type) return {};
  return {rows->rows + static_cast<std::size_t>(row) * row_bytes, row_bytes};
}

std::vector<float> floats_of(const OutputTensor& tensor, const SourceRow& source) {
  std::vector<float> floats(static_cast<std::size_t>(tensor.row_elements()));
  if (source.part->matrix != nullptr) {
    stored_row(*source.part->matrix, source.row, floats.data());
    return floats;
  }
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
  }
}

void StoredRowSource::end(const OutputTensor& tensor) {
  for (const ModelPart& part : tensor.parts) {
    if (part.matrix != nullptr) checkpoint_.done_with(*part.matrix);
  }
}

tl::expected<quant::QuantizationError, std::string> StoredRowSource::write(
    const OutputTensor& tensor, std::uint64_t row, std::span<std::byte> out) const {
  const SourceRow source = source_of(tensor, row);
  const WeightType type = *formats::weight_type(tensor.spec.type);
  std::span<const std::byte> stored;
  if (source.part->matrix != nullptr) {
    stored = bytes_if(*source.part->matrix, source.row, type, out.size());
  }
  if (!stored.empty()) {
    std::copy(stored.begin(), stored.end(), out.begin());
    return quant::QuantizationError{.count = static_cast<std::size_t>(tensor.row_elements())};
  }
  const std::vector<float> floats = floats_of(tensor, source);
  const float limit = largest(type);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const bool fits = std::isfinite(floats[i]) && std::abs(floats[i]) < limit;
    if (!fits) return tl::unexpected(wrong_number(tensor, source, i, floats[i]));
  }
  return quant::quantize(type, floats, out.data());
}

}  // namespace forge
