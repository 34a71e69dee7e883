#include "matrix_unit.h"

#include <bit>

namespace forge::simt {
namespace {

using detail::MatrixShare;

constexpr std::size_t kRowsA = 16;
constexpr std::size_t kRowsB = 8;
constexpr std::size_t kLanesOfRow = 4;
using Shares = std::array<MatrixShare, kWarpSize>;

/// The 32 bytes of a row.
using Row = std::array<std::uint32_t, 8>;

Row row_of_a(const Shares& shares, std::size_t row) {
  Row whole;
  for (std::size_t t = 0; t < kLanesOfRow; ++t) {
    const MatrixA& a = shares[row % kRowsB * kLanesOfRow + t].a;
    whole[t] = a.words[row / kRowsB];
    whole[t + kLanesOfRow] = a.words[row / kRowsB + 2];
  }
  return whole;
}

Row row_of_b(const Shares& shares, std::size_t row) {
  Row whole;
  for (std::size_t t = 0; t < kLanesOfRow; ++t) {
    const MatrixB& b = shares[row * kLanesOfRow + t].b;
    whole[t] = b.words[0];
    whole[t + kLanesOfRow] = b.words[1];
  }
  return whole;
}

std::uint32_t& sum_at(Shares& shares, std::size_t row, std::size_t column) {
  MatrixShare& share = shares[row % kRowsB * kLanesOfRow + column / 2];
  return share.sum[row / kRowsB * 2 + column % 2];
}

/// prepare(Row) once for each row, then sum = add(row of A, row of B, sum) for each output.
template <class Prepare, class Add>
void multiply_rows(Shares& shares, const Prepare& prepare, const Add& add) {
  using Prepared = decltype(prepare(Row{}));
  std::array<Prepared, kRowsA> a;
  std::array<Prepared, kRowsB> b;
  for (std::size_t i = 0; i < kRowsA; ++i) a[i] = prepare(row_of_a(shares, i));
  for (std::size_t j = 0; j < kRowsB; ++j) b[j] = prepare(row_of_b(shares, j));
  for (std::size_t i = 0; i < kRowsA; ++i) {
    for (std::size_t j = 0; j < kRowsB; ++j) {
      std::uint32_t& sum = sum_at(shares, i, j);
      sum = add(a[i], b[j], sum);
    }
  }
}

template <class Half>
void multiply_halves(Shares& shares, const numerics::StepModel& model) {
  multiply_rows(
      shares,
      [](const Row& row) {
        return numerics::step_row<Half>(std::bit_cast<std::array<Half, 16>>(row));
      },
      [&](const numerics::StepRow& a, const numerics::StepRow& b, std::uint32_t sum) {
        return numerics::bits_of(numerics::matrix_step(model, a, b, numerics::float_of(sum)));
      });
}

void multiply_bytes(Shares& shares) {
  using Bytes = std::array<std::int8_t, 32>;
  multiply_rows(
      shares, [](const Row& row) { return std::bit_cast<Bytes>(row); },
      [](const Bytes& a, const Bytes& b, std::uint32_t sum) {
        for (std::size_t k = 0; k < a.size(); ++k) sum += static_cast<std::uint32_t>(a[k] * b[k]);
        return sum;
      });
}

}  // namespace

void multiply_matrices(std::array<MatrixShare, kWarpSize>& shares, MatrixType type,
                       const numerics::StepModel& model) {
  switch (type) {
    case MatrixType::bf16:
      return multiply_halves<numerics::BF16>(shares, model);
    case MatrixType::f16:
      return multiply_halves<numerics::F16>(shares, model);
    case MatrixType::s8:
      return multiply_bytes(shares);
  }
}

}  // namespace forge::simt
