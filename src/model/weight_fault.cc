#include "forge/model/weight_fault.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "forge/linear/matrix_rows.h"
#include "forge/numerics/half.h"
#include "forge/quant/scale_fault.h"

namespace forge::model {
namespace {

using linear::StoredGroups;
using linear::StoredInt8;
using linear::StoredLinear;
using linear::StoredRows;
using quant::WeightType;

/// Whether some number of a row has all bits of its exponent set: without its sign, adding `unit`,
/// 1 of the exponent, carries into the sign's place.
template <class Word>
bool has_fault(const std::byte* row, std::size_t count, Word unit) {
  constexpr auto kSign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  Word carried = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, row + i * sizeof word, sizeof word);
    carried = static_cast<Word>(carried | ((word & ~kSign) + unit));
  }
  return (carried & kSign) != 0;
}

/// Of rows of blocks, the place of the first bad one among those of row `row`.
std::optional<WeightFault> block_fault(const StoredRows& form, std::size_t row,
                                       std::size_t inputs) {
  const std::size_t bytes = quant::block_bytes(form.type);
  const std::size_t elements = quant::block_elements(form.type);
  const std::size_t blocks = inputs / elements;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto scale = quant::scale_fault(form.type, form.rows + (row * blocks + i) * bytes);
    if (scale) return WeightFault{form.rows, row, i * elements, *scale, true};
  }
  return std::nullopt;
}

/// Of rows of floats of `Float`.
template <class Float, class Word>
std::optional<WeightFault> float_fault(const StoredRows& form, std::size_t row, std::size_t inputs,
                                       Word unit) {
  static_assert(sizeof(Float) == sizeof(Word));
  const std::byte* const numbers = form.rows + row * inputs * sizeof(Float);
  if (!has_fault(numbers, inputs, unit)) return std::nullopt;
  for (std::size_t i = 0;; ++i) {
    Float stored;
    std::memcpy(&stored, numbers + i * sizeof stored, sizeof stored);
    float value = 0;
    if constexpr (std::is_same_v<Float, float>) {
      value = stored;
    } else {
      value = to_float(stored);
    }
    if (!std::isfinite(value)) return WeightFault{form.rows, row, i, value, false};
  }
}

std::optional<WeightFault> fault_in(const StoredRows& form, std::size_t row, std::size_t inputs) {
  switch (form.type) {
    case WeightType::f32:
      return float_fault<float, std::uint32_t>(form, row, inputs, 0x00800000);
    case WeightType::f16:
      return float_fault<numerics::F16, std::uint16_t>(form, row, inputs, 0x0400);
    case WeightType::bf16:
      return float_fault<numerics::BF16, std::uint16_t>(form, row, inputs, 0x0080);
    case WeightType::i8:  // whose scales are elsewhere
      return std::nullopt;
    default:
      return block_fault(form, row, inputs);
  }
}

/// fault(row) of the first of so many rows in memory that has one.
template <class Fault>
std::optional<WeightFault> first_of(int rows, linear::ThreadPool& pool, const Fault& fault) {
  constexpr std::size_t kRowsOfPart = 64;
  const auto count = static_cast<std::size_t>(rows);
  const std::size_t parts = (count + kRowsOfPart - 1) / kRowsOfPart;
  std::vector<std::optional<WeightFault>> found(parts);
  pool.run(static_cast<int>(parts), [&](int part) {
    const std::size_t first = static_cast<std::size_t>(part) * kRowsOfPart;
    auto& out = found[static_cast<std::size_t>(part)];
    for (std::size_t row = first; row < std::min(count, first + kRowsOfPart) && !out; ++row) {
      out = fault(row);
    }
  });
  const auto bad = std::ranges::find_if(found, [](const auto& one) { return one.has_value(); });
  return bad == found.end() ? std::nullopt : *bad;
}

/// The place of the first number, widened to a float, of which is_bad.
template <class IsBad>
std::optional<WeightFault> first_number(const StoredLinear& matrix, linear::ThreadPool& pool,
                                        const IsBad& is_bad) {
  return first_of(matrix.outputs, pool, [&](std::size_t row) -> std::optional<WeightFault> {
    std::vector<float> numbers(static_cast<std::size_t>(matrix.inputs));
    stored_row(matrix, static_cast<int>(row), numbers.data());
    const auto bad = std::ranges::find_if(numbers, is_bad);
    if (bad == numbers.end()) return std::nullopt;
    const auto column = static_cast<std::size_t>(bad - numbers.begin());
    return WeightFault{nullptr, row, column, *bad, false};
  });
}

/// Looks at rows in memory, one by one.
struct Search {
  const StoredLinear& rows;
  linear::ThreadPool& pool;

  std::optional<WeightFault> operator()(const StoredRows& form) const {
    const auto inputs = static_cast<std::size_t>(rows.inputs);
    return first_of(rows.outputs, pool,
                    [&](std::size_t row) { return fault_in(form, row, inputs); });
  }
  /// Scales were looked at when they became floats (tensor_source.cc).
  std::optional<WeightFault> operator()(const StoredInt8&) const { return std::nullopt; }
  /// Whose scales are rows of their own.
  std::optional<WeightFault> operator()(const StoredGroups&) const { return std::nullopt; }

  /// A NaN among the codes, or a code that its scale takes beyond the largest float.
  std::optional<WeightFault> operator()(const linear::StoredFloat8&) const {
    return first_number(rows, pool, [](float number) { return !std::isfinite(number); });
  }
};

/// The first byte of what is looked at.
struct FirstNumber {
  const std::byte* operator()(const StoredRows& form) const { return form.rows; }
  const std::byte* operator()(const StoredInt8& form) const { return form.codes; }
  const std::byte* operator()(const StoredGroups& form) const { return form.scales; }
  const std::byte* operator()(const linear::StoredFloat8& form) const { return form.codes; }
};

/// The matrix whose rows are looked at: of groups, their scales [G][N].
StoredLinear matrix_of_numbers(const StoredLinear& stored) {
  const auto* const groups = std::get_if<StoredGroups>(&stored.form);
  if (groups == nullptr) return stored;
  return {stored.inputs / groups->group_size, stored.outputs,
          StoredRows{groups->scale_type, groups->scales}};
}

/// look(rows) of the first rows of `numbers`, in memory a few MiB at a time, that has a fault.
/// at: WeightFault::numbers.
template <class Look>
tl::expected<std::optional<WeightFault>, linear::ReadFault> first_in(
    const StoredLinear& numbers, const std::byte* at, const linear::WeightReader& reader,
    linear::ThreadPool& pool, const Look& look) {
  constexpr std::size_t kBytesAtOnce = std::size_t{4} << 20;
  constexpr std::size_t kRowsMultiple = 8;  // whole words, where words have several rows
  const std::size_t of_row = std::max<std::size_t>(1, row_bytes(numbers));
  const std::size_t most = std::clamp<std::size_t>(kBytesAtOnce / of_row, kRowsMultiple, 1U << 20);
  const int step = static_cast<int>(most / kRowsMultiple * kRowsMultiple);
  linear::MatrixRows rows;
  for (int first = 0; first < numbers.outputs; first += step) {
    const int count = std::min(step, numbers.outputs - first);
    if (auto done = rows.read(numbers, first, count, reader, pool); !done) {
      return tl::unexpected(done.error());
    }
    std::optional<WeightFault> fault = look(rows.matrix());
    if (!fault) continue;
    fault->numbers = at;
    fault->row += static_cast<std::size_t>(first);
    return fault;
  }
  return std::nullopt;
}

}  // namespace

tl::expected<std::optional<WeightFault>, linear::ReadFault> find_fault(
    const StoredLinear& stored, const linear::WeightReader& reader, linear::ThreadPool& pool) {
  const std::byte* const at = std::visit(FirstNumber(), stored.form);
  return first_in(matrix_of_numbers(stored), at, reader, pool, [&](const StoredLinear& rows) {
    return std::visit(Search{rows, pool}, rows.form);
  });
}

tl::expected<std::optional<WeightFault>, linear::ReadFault> find_overflow(
    const StoredLinear& stored, numerics::HalfType type, const linear::WeightReader& reader,
    linear::ThreadPool& pool) {
  const auto overflows = [&](float number) {
    const bool is_f16 = type == numerics::HalfType::f16;
    return !std::isfinite(is_f16 ? to_float(numerics::to_f16(number))
                                 : to_float(numerics::to_bf16(number)));
  };
  const auto* const groups = std::get_if<StoredGroups>(&stored.form);
  const std::byte* const at =
      groups == nullptr ? std::visit(FirstNumber(), stored.form) : groups->codes;
  return first_in(stored, at, reader, pool,
                  [&](const StoredLinear& rows) { return first_number(rows, pool, overflows); });
}

}  // namespace forge::model
