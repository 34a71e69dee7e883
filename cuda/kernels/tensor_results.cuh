// What becomes of the products of project_narrow, project_wide and a library: the norm's factor,
// the bias, and then one of
//
//   y                  m v, capped; and of each tile of eight outputs the largest (candidates.h)
//   y += m v           the residual stream; and the same rows scaled for the next norm, with their
//                      squares: eight neighbouring outputs, those of a tile, are a group of them
//   f(gate, up)        rounded, what the next product reads
//
// A warp has tiles of 16 rows and 8 outputs, a lane two neighbouring outputs of two rows of
// each, as matrix.h says.
#pragma once

#include "best_token.cuh"
#include "forge/gpu/kernels/tensor_product.h"
#include "forge/numerics/canonical.h"
#include "forge/numerics/scaled_norm.h"
#include "forge/simt/dialect.h"
#include "glu.cuh"
#include "half_rows.cuh"

namespace FORGE_KERNELS {
using namespace simt;

/// Where the rows of a block lie, in x and in the result: one after the other. Rows that lie
/// elsewhere have a type of their own with the same members (expert_rows.cuh); and rows whose
/// results are none of the above store them (project_heads_wide.cuh).
struct RowsInOrder {
  int first;

  FORGE_DEVICE std::int64_t source(int r) const { return first + r; }
  FORGE_DEVICE std::int64_t result(int r) const { return first + r; }
};

/// s of the two rows of this lane: lane / 4, and eight more.
struct RowFactors {
  float first = 1.0f;
  float second = 1.0f;
};

/// Calls body(i, sum) with the squares of row i of kRows rows, of which `rows` are there; others
/// have none. Row i of x is source_of(i). Each row's groups are added by the lanes of sum_reference
/// (numerics/canonical.h), those of all rows side by side.
template <int kRows, class SourceOf, class Body>
FORGE_DEVICE void for_each_square_sum(const gpu::TensorProduct& a, int rows,
                                      const SourceOf& source_of, const Body& body) {
  const int groups = a.inputs / numerics::kSquaresGroup;
  const gptr<const float> squares = global(a.norm.squares);
  float sums[kRows] = {};
  for (int i = lane(); i < groups; i += kWarpSize) {
    for (int row = 0; row < kRows; ++row) {
      if (row >= rows) continue;
      const float group = squares[source_of(row) * groups + i];
      sums[row] = sums[row] + group;
    }
  }
  for (int row = 0; row < kRows; ++row) body(row, warp_sum(sums[row]));
}

/// s of a row with that sum of squares.
FORGE_DEVICE float row_factor(const gpu::TensorProduct& a, float sum) {
  return numerics::scaled_norm_factor(sum, a.inputs, a.norm.eps);
}

/// s of the block's rows. A warp makes kShare of them side by side: so many loads are under way.
template <int kShare, class Rows>
FORGE_DEVICE void find_factors(const gpu::TensorProduct& a, int rows, const Rows& row_of,
                               sptr<float> factors) {
  const int first = warp() * kShare;
  float factor = 1.0f;
  if (a.norm.squares != nullptr) {
    float of_lane = 0.0f;
    for_each_square_sum<kShare>(
        a, rows - first, [&](int i) { return row_of.source(first + i); },
        [&](int i, float sum) {
          if (lane() == i) of_lane = sum;
        });
    factor = row_factor(a, of_lane);
  }
  if (lane() < kShare) factors[first + lane()] = factor;
}

/// A lane's sums of a tile in shared memory, 16 bytes at `to`, and back.
template <class T>
FORGE_DEVICE void park_sums(sptr<T> to, const MatrixSum<float>& sums) {
  store16(to, {numerics::bits_of(sums.at[0]), numerics::bits_of(sums.at[1]),
               numerics::bits_of(sums.at[2]), numerics::bits_of(sums.at[3])});
}
template <class T>
FORGE_DEVICE MatrixSum<float> parked_sums(sptr<T> from) {
  const Words4 words = load16(from);
  return {{numerics::float_of(words.x), numerics::float_of(words.y), numerics::float_of(words.z),
           numerics::float_of(words.w)}};
}

/// A tile of 16 rows and 8 outputs, or 8 gates, whose ups are another one.
struct TensorTile {
  int first_row;  ///< of the block's
  int rows;       ///< of it that are there, if any
  int first_output;
  RowFactors factors;
};

/// Two neighbouring numbers of a row.
struct Two {
  float first;
  float second;
};

/// s sum + bias of outputs n and n + 1. Those beyond N are 0.
FORGE_DEVICE Two biased(const gpu::TensorProduct& a, int n, float factor, Two sums) {
  Two v{factor * sums.first, factor * sums.second};
  if (a.bias == nullptr) return v;
  const gptr<const float> bias = global(a.bias);
  if (n < a.outputs) v.first = v.first + bias[n];
  if (n + 1 < a.outputs) v.second = v.second + bias[n + 1];
  return v;
}

FORGE_DEVICE float capped(const gpu::TensorProduct& a, float v) {
  const float scaled = a.multiplier * v;
  return a.cap > 0 ? numerics::soft_cap(scaled, a.cap) : scaled;
}

/// Stores the candidate of the eight outputs of a tile, of a row if it is there. Four neighbouring
/// lanes have the outputs, this one n and n + 1. All lanes take part.
FORGE_DEVICE void store_candidate(const gpu::TensorProduct& a, bool is_there, std::int64_t row,
                                  int n, Two y) {
  sampling::BestToken best = no_token();
  if (n < a.outputs) offer_logit(best, y.first, static_cast<std::uint32_t>(n));
  if (n + 1 < a.outputs) offer_logit(best, y.second, static_cast<std::uint32_t>(n + 1));
  best = best_of_lanes<4>(best);
  if (!is_there || n >= a.outputs || lane() % 4 != 0) return;
  const std::int64_t candidates = gpu::candidate_count(a.outputs);  // of a row
  global(a.candidates)[row * candidates + n / gpu::kCandidateLogits] = best;
}

/// y of outputs n and n + 1 of a row, if it is there, and the candidate of its tile, as far as they
/// are wanted. All lanes take part.
FORGE_DEVICE void store_plain(const gpu::TensorProduct& a, bool is_there, std::int64_t row, int n,
                              Two v) {
  const Two y{capped(a, v.first), capped(a, v.second)};
  if (a.y != nullptr && is_there) {
    const gptr<float> to = global(a.y) + row * a.stride() + n;
    if (n < a.outputs) to[0] = y.first;
    if (n + 1 < a.outputs) to[1] = y.second;
  }
  if (a.candidates != nullptr) store_candidate(a, is_there, row, n, y);
}

/// A lane's share of a tile of rows of `outputs` floats. What is not there is zero.
template <class Rows>
FORGE_DEVICE MatrixSum<float> read_tile(gptr<const float> from, int outputs, const Rows& row_of,
                                        const TensorTile& tile) {
  MatrixSum<float> sums = {};
  const int n = tile.first_output + lane() % 4 * 2;
  FORGE_UNROLLED for (int half = 0; half < 2; ++half) {
    const int row = lane() / 4 + 8 * half;
    if (row >= tile.rows) continue;
    const gptr<const float> y = from + row_of.result(tile.first_row + row) * outputs + n;
    if (n < outputs) sums.at[2 * half] = y[0];
    if (n + 1 < outputs) sums.at[2 * half + 1] = y[1];
  }
  return sums;
}

/// y where the sums of a tile are added to it, and zeros elsewhere. It is read on its own so that
/// several tiles can ask for theirs before the first of them writes.
template <class Rows>
FORGE_DEVICE MatrixSum<float> read_residual(const gpu::TensorProduct& a, const Rows& row_of,
                                            const TensorTile& tile) {
  if (!a.accumulate) return {};
  return read_tile(global(static_cast<const float*>(a.y)), a.outputs, row_of, tile);
}

/// y of outputs n and n + 1 of a row, if it is there, and the same for the next product to read.
/// All lanes take part.
template <class Half>
FORGE_DEVICE void store_residual(const gpu::TensorProduct& a, bool is_there, std::int64_t row,
                                 int n, Two y) {
  const std::int64_t first = row * a.outputs + n;
  const bool has_second = is_there && n + 1 < a.outputs;
  if (is_there && n < a.outputs) global(a.y)[first] = y.first;
  if (has_second) global(a.y)[first + 1] = y.second;
  if (a.next.h == nullptr) return;
  float squares = y.first * y.first + y.second * y.second;
  squares = squares + shuffle_xor(squares, 1);
  squares = squares + shuffle_xor(squares, 2);
  if (!has_second) return;
  Two weight{1.0f, 1.0f};
  if (a.next.weight != nullptr) {
    const gptr<const float> weights = global(a.next.weight) + n;
    weight.first = weights[0];
    weight.second = weights[1];
  }
  global(static_cast<std::uint32_t*>(a.next.h))[first / 2] =
      pack_pair<Half>(y.first * weight.first, y.second * weight.second);
  if (a.next.squares != nullptr && lane() % 4 == 0) {
    global(a.next.squares)[first / numerics::kSquaresGroup] = squares;
  }
}

template <class Rows>
concept StoresResults = requires(const Rows& row_of, Two v) {
  row_of.store(std::int64_t{}, 0, v);
};

/// The outputs are n and n + 1.
template <class Half, class Rows>
FORGE_DEVICE void store_results(const gpu::TensorProduct& a, const Rows& row_of,
                                const TensorTile& tile, const MatrixSum<float>& sums,
                                const MatrixSum<float>& before) {
  const int n = tile.first_output + lane() % 4 * 2;
  FORGE_UNROLLED for (int half = 0; half < 2; ++half) {
    const int row = lane() / 4 + 8 * half;
    const bool is_there = row < tile.rows;
    const std::int64_t result = is_there ? row_of.result(tile.first_row + row) : 0;
    const float factor = half == 0 ? tile.factors.first : tile.factors.second;
    const Two v = biased(a, n, factor, {sums.at[2 * half], sums.at[2 * half + 1]});
    if constexpr (StoresResults<Rows>) {
      if (is_there) row_of.store(result, n, v);
    } else if (a.accumulate) {
      const Two y = {numerics::fma(a.multiplier, v.first, before.at[2 * half]),
                     numerics::fma(a.multiplier, v.second, before.at[2 * half + 1])};
      store_residual<Half>(a, is_there, result, n, y);
    } else {
      store_plain(a, is_there, result, n, v);
    }
  }
}

/// The outputs are gates n and n + 1, and their ups.
template <class Half, class Rows>
FORGE_DEVICE void store_gated(const gpu::TensorProduct& a, const Rows& row_of,
                              const TensorTile& tile, const MatrixSum<float>& gates,
                              const MatrixSum<float>& ups) {
  const int size = a.outputs / 2;
  const int n = tile.first_output + lane() % 4 * 2;
  const gptr<Half> h = global(static_cast<Half*>(a.gated.h));
  FORGE_UNROLLED for (int half = 0; half < 2; ++half) {
    const int row = lane() / 4 + 8 * half;
    if (row >= tile.rows) continue;
    const float factor = half == 0 ? tile.factors.first : tile.factors.second;
    const Two gate = biased(a, n, factor, {gates.at[2 * half], gates.at[2 * half + 1]});
    const Two up = biased(a, size + n, factor, {ups.at[2 * half], ups.at[2 * half + 1]});
    const std::int64_t at = row_of.result(tile.first_row + row) * size + n;
    const float first = gated_unit(a.gated.function, gate.first, up.first);
    const float second = gated_unit(a.gated.function, gate.second, up.second);
    if (n < size) h[at] = numerics::half_of<Half>(first);
    if (n + 1 < size) h[at + 1] = numerics::half_of<Half>(second);
  }
}

}  // namespace FORGE_KERNELS
