#include "forge/checkpoint/row_source.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <variant>

namespace forge::checkpoint {
namespace {

using quant::WeightType;

/// Above which a finite number would be rounded to infinity.
float largest(WeightType type) {
  constexpr float kF16Limit = 65520;          // half way between 65504 and 65536
  constexpr float kBF16Limit = 0x1.ffp+127F;  // half way between the largest and 2^128
  if (type == WeightType::f16) return kF16Limit;
  return type == WeightType::bf16 ? kBF16Limit : INFINITY;
}

/// Of vectors.
std::vector<float> floats_of(const FileTensor& tensor, const SourceRow& source) {
  std::vector<float> floats(static_cast<std::size_t>(tensor.row_elements()));
  const auto turns = static_cast<std::size_t>(tensor.alternating);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const WeightRows& part = source.part[i % turns];
    const int from = source_row(tensor.order, tensor.head_size, static_cast<int>(i / turns));
    floats[i] = part.vector[static_cast<std::size_t>(from)] + tensor.offset;
  }
  return floats;
}

}  // namespace

void RowSource::begin(const FileTensor& tensor) {
  columns_.clear();
  for (const WeightRows& part : tensor.parts) {
    if (!part.transposed) continue;
    const auto count = static_cast<std::size_t>(part.count);
    std::vector<float> row(static_cast<std::size_t>(part.matrix->inputs));
    std::vector<float>& columns = columns_[&part];
    columns.resize(row.size() * count);
    for (std::size_t n = 0; n < count; ++n) {
      floats(part, part.first + static_cast<int>(n), row);
      for (std::size_t k = 0; k < row.size(); ++k) columns[k * count + n] = row[k];
    }
  }
}

void RowSource::end(const FileTensor&) { columns_.clear(); }

std::vector<float> RowSource::floats_of_row(const FileTensor& tensor,
                                            const SourceRow& source) const {
  const WeightRows& part = *source.part;
  if (part.matrix == nullptr) return floats_of(tensor, source);
  std::vector<float> row(static_cast<std::size_t>(tensor.row_elements()));
  if (part.transposed) {
    const auto turns = static_cast<std::size_t>(tensor.alternating);
    const std::size_t size = row.size() / turns;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      const std::vector<float>& columns = columns_.at(&source.part[turn]);
      const std::size_t first = size * static_cast<std::size_t>(source.row);
      for (std::size_t i = 0; i < size; ++i) row[i * turns + turn] = columns[first + i];
    }
  } else {
    floats(part, part.first + source.row, row);
  }
  return row;
}

std::string RowSource::wrong_number(const FileTensor& tensor, const SourceRow& source,
                                    std::size_t column, float value) const {
  const auto turns = static_cast<std::size_t>(tensor.alternating);
  const WeightRows& part = source.part[column % turns];
  const int across = static_cast<int>(column / turns);
  const TensorName name = name_of(part);
  const StepPlace steps = name.steps.value_or(StepPlace{});
  const auto place_of = [&](int output) { return output * steps.step + steps.first; };
  std::ostringstream out;
  out << "tensor '" << name.name << "' at [";
  if (name.place) out << name.place->index << ", ";
  if (part.matrix == nullptr) {
    out << place_of(across);
  } else {
    const int output = part.first + (part.transposed ? across : source.row);
    const int input = part.transposed ? source.row : across;
    if (name.transposed) {
      out << input << ", " << place_of(output);
    } else {
      out << output << ", " << input;
    }
  }
  out << "] is " << value << "; accepted are finite numbers";
  const WeightType type = *formats::weight_type(tensor.spec.type);
  if (std::isfinite(value)) out << " below " << largest(type) << " for " << quant::name_of(type);
  return out.str();
}

tl::expected<quant::QuantizationError, std::string> RowSource::write(
    const FileTensor& tensor, std::uint64_t row, std::span<std::byte> out) const {
  const SourceRow source = source_of(tensor, row);
  const WeightRows& part = *source.part;
  const WeightType type = *formats::weight_type(tensor.spec.type);
  if (part.matrix != nullptr && !part.transposed &&
      copy(part, part.first + source.row, type, out)) {
    return quant::QuantizationError{.count = static_cast<std::size_t>(tensor.row_elements())};
  }
  const std::vector<float> floats = floats_of_row(tensor, source);
  const float limit = largest(type);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const bool fits = std::isfinite(floats[i]) && std::abs(floats[i]) < limit;
    if (!fits) return tl::unexpected(wrong_number(tensor, source, i, floats[i]));
  }
  const bool has_columns = part.matrix != nullptr && !part.transposed;
  return quant::quantize(type, floats, out.data(),
                         has_columns ? importance(part) : std::span<const float>());
}

std::span<const float> RowSource::importance(const WeightRows&) const { return {}; }

void StoredRowSource::begin(const FileTensor& tensor) {
  for (const WeightRows& part : tensor.parts) {
    if (part.matrix != nullptr && checkpoint_ != nullptr) checkpoint_->will_read(*part.matrix);
  }
  RowSource::begin(tensor);
}

void StoredRowSource::end(const FileTensor& tensor) {
  for (const WeightRows& part : tensor.parts) {
    if (part.matrix != nullptr && checkpoint_ != nullptr) checkpoint_->done_with(*part.matrix);
  }
  RowSource::end(tensor);
}

void StoredRowSource::floats(const WeightRows& part, int row, std::span<float> out) const {
  stored_row(*part.matrix, row, out.data());
}

bool StoredRowSource::copy(const WeightRows& part, int row, WeightType type,
                           std::span<std::byte> out) const {
  const auto* const rows = std::get_if<linear::StoredRows>(&part.matrix->form);
  if (rows == nullptr || rows->type != type) return false;
  std::copy_n(rows->rows + static_cast<std::size_t>(row) * out.size(), out.size(), out.begin());
  return true;
}

std::span<const float> StoredRowSource::importance(const WeightRows& part) const {
  const auto found = importance_.find(part.role);
  return found == importance_.end() ? std::span<const float>() : found->second;
}

TensorName StoredRowSource::name_of(const WeightRows& part) const {
  if (checkpoint_ == nullptr) return RowSource::name_of(part);
  const auto name = tensor_name(part.role, checkpoint_->config(), checkpoint_->format());
  return name.value_or(RowSource::name_of(part));
}

}  // namespace forge::checkpoint
