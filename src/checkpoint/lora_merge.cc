#include "lora_merge.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <variant>

#include "forge/numerics/half.h"

namespace forge::checkpoint::detail {
namespace {

using quant::WeightType;

/// Whether it fits the type, whose bytes are written.
bool store(WeightType type, double value, std::byte* out) {
  if (type == WeightType::f32) {
    const auto rounded = static_cast<float>(value);
    std::memcpy(out, &rounded, sizeof rounded);
    return std::isfinite(rounded);
  }
  const float odd = rounded_to_odd(value);
  const bool is_f16 = type == WeightType::f16;
  const std::uint16_t bits = is_f16 ? numerics::to_f16(odd).bits : numerics::to_bf16(odd).bits;
  std::memcpy(out, &bits, sizeof bits);
  return std::isfinite(is_f16 ? to_float(numerics::F16{bits}) : to_float(numerics::BF16{bits}));
}

/// Computes rows, with memory of its own for one.
class RowMerger {
 public:
  RowMerger(const FileTensor& layer, const std::vector<LoraTerm>& terms)
      : layer_(layer), terms_(terms), width_(static_cast<std::size_t>(layer.row_elements())) {}

  /// Row `row` of the layer into its place.
  std::optional<MergeFault> run(std::size_t row, MergedMatrices& out) {
    const SourceRow source = source_of(layer_, row);
    const linear::StoredLinear& matrix = *source.part->matrix;
    const int stored = source.part->first + source.row;
    base_.resize(width_);
    stored_row(matrix, stored, base_.data());
    row_.assign(base_.begin(), base_.end());
    for (const LoraTerm& term : terms_) add(term, row);
    MergedMatrix& place = out.at(&matrix);
    const std::size_t bytes = *quant::bytes_of(place.type, 1);
    std::byte* const to = place.rows.data() + static_cast<std::size_t>(stored) * width_ * bytes;
    for (std::size_t k = 0; k < width_; ++k) {
      if (!store(place.type, row_[k], to + k * bytes)) {
        return MergeFault{.row = row, .column = k, .value = row_[k], .type = place.type};
      }
    }
    return std::nullopt;
  }

 private:
  void add(const LoraTerm& term, std::size_t row) {
    sum_.assign(width_, 0);
    for (std::size_t j = 0; j < term.rank; ++j) {
      const double up = term.up[row * term.rank + j];
      const float* const down = term.down.data() + j * width_;
      for (std::size_t k = 0; k < width_; ++k) sum_[k] += up * down[k];
    }
    for (std::size_t k = 0; k < width_; ++k) {
      const double change = term.factor * sum_[k];
      if (change != 0) row_[k] += change;  // a -0 of the base stays one
    }
  }

  const FileTensor& layer_;
  const std::vector<LoraTerm>& terms_;
  std::size_t width_;
  std::vector<float> base_;
  std::vector<double> row_;
  std::vector<double> sum_;
};

}  // namespace

quant::WeightType merged_type(const linear::StoredLinear& matrix) {
  const auto* const rows = std::get_if<linear::StoredRows>(&matrix.form);
  const bool is_plain = rows != nullptr && quant::block_elements(rows->type) == 1;
  return is_plain ? rows->type : WeightType::bf16;
}

float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (!std::isfinite(value) || static_cast<double>(nearest) == value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}

tl::expected<MergedMatrices, MergeFault> merged(const FileTensor& layer,
                                                const std::vector<LoraTerm>& terms,
                                                linear::ThreadPool& pool) {
  MergedMatrices out;
  for (const WeightRows& part : layer.parts) {
    const WeightType type = merged_type(*part.matrix);
    const std::size_t numbers = static_cast<std::size_t>(part.matrix->outputs) *
                                static_cast<std::size_t>(layer.row_elements());
    out[part.matrix] = {type, std::vector<std::byte>(*quant::bytes_of(type, numbers))};
  }
  constexpr std::size_t kRowsAtOnce = 16;
  const auto rows = static_cast<std::size_t>(layer.rows());
  const std::size_t pieces = (rows + kRowsAtOnce - 1) / kRowsAtOnce;
  std::vector<std::optional<MergeFault>> faults(pieces);
  pool.run(static_cast<int>(pieces), [&](int index) {
    const auto piece = static_cast<std::size_t>(index);
    RowMerger merger(layer, terms);
    const std::size_t end = std::min(rows, (piece + 1) * kRowsAtOnce);
    for (std::size_t row = piece * kRowsAtOnce; row < end && !faults[piece]; ++row) {
      faults[piece] = merger.run(row, out);
    }
  });
  const auto fault = std::ranges::find_if(faults, [](const auto& one) { return one.has_value(); });
  if (fault != faults.end()) return tl::unexpected(**fault);
  return out;
}

}  // namespace forge::checkpoint::detail
