// ExpertProductTest: what becomes of the products of pairs of a row and an expert on tensor cores
// (expert_product.h). A suite says how it makes a case, with v of each pair by definition, and
// which kernels it launches.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "forge/numerics/scaled_norm.h"
#include "forge/numerics/tensor_product.h"
#include "forge/numerics/vector_ops.h"
#include "gpu/expert_choices.h"
#include "gpu/kernel_rig.h"
#include "gpu/product_test.h"
#include "linear/code_layers.h"

namespace forge::gpu {

/// Each of `rows` rows chooses `per_row` experts; `of_first` of them the first, the others not.
inline std::vector<ExpertChoice> choices_with(int rows, int of_first, int experts, int per_row,
                                              Random& random) {
  std::vector<ExpertChoice> choices;
  for (int row = 0; row < rows; ++row) {
    std::vector<std::uint32_t> others = random.permutation(static_cast<std::uint32_t>(experts - 1));
    for (std::uint32_t& expert : others) ++expert;
    if (row < of_first) others.insert(others.begin(), 0);
    others.resize(size_of(per_row));
    std::ranges::sort(others);
    for (const std::uint32_t expert : others) choices.push_back({expert, random.real(2.0f)});
  }
  return choices;
}

struct ExpertCase {
  int rows;
  int of_first;  ///< of them the first expert has
  int inputs;
  int outputs;
  int experts = 4;
  int per_row = 2;
  bool rows_of_pairs = false;  ///< x has a row for each pair
  bool norm = false;
  bool bias = false;
  linear::Form form = linear::Form::q8_0;  ///< of weights, where they are codes
};

class ExpertProductTest : public KernelTest {
 protected:
  using Case = ExpertCase;

  /// The arrays of a case, its arguments, and v of each pair by definition.
  struct Made {
    Random random;
    std::unique_ptr<KernelRig> rig;
    std::vector<ExpertChoice> choices;
    ExpertProduct product;
    std::vector<float> v;  ///< [T A][N]
  };

  virtual Made make(const Case& c, numerics::HalfType type) const = 0;
  virtual void launch(KernelRig& rig, const Case& c, const std::vector<ExpertChoice>& choices,
                      const ExpertProduct& product) const = 0;

  /// All but x and weights, and squares of which s is made where there is a norm.
  Made begin(const Case& c, numerics::HalfType type, std::vector<float>& factors) const {
    Random random(size_of(c.rows) + 100 * size_of(c.inputs) + 10'000 * size_of(c.outputs));
    Made made{random, rig(random.word()), {}, {}, {}};
    made.choices = choices_with(c.rows, c.of_first, c.experts, c.per_row, made.random);
    KernelRig& rig = *made.rig;
    const int groups = c.inputs / numerics::kSquaresGroup;
    std::vector<float> squares = made.random.reals(size_of(x_rows(c), groups));
    for (float& square : squares) square = square * square * 9;
    made.product = {
        .plan = {},
        .rows_max = c.rows + kRowsBeyond,
        .tiles_max = 0,
        .x = nullptr,
        .pairs_per_row = c.rows_of_pairs ? 1 : c.per_row,
        .inputs = c.inputs,
        .outputs = c.outputs,
        .type = type,
        .weights = nullptr,
        .matrix_bytes = 0,
        .norm = {.squares = c.norm ? rig.input("squares", squares) : nullptr, .eps = 1e-5f}};
    for (int row = 0; row < x_rows(c); ++row) {
      const float sum = numerics::sum_reference(&squares[size_of(row, groups)], groups);
      factors.push_back(c.norm ? numerics::scaled_norm_factor(sum, c.inputs, made.product.norm.eps)
                               : 1.0f);
    }
    return made;
  }

  /// Rows of x.
  static int x_rows(const Case& c) {
    return std::max(1, c.rows_of_pairs ? c.rows * c.per_row : c.rows);
  }

  /// made.v of W x of each pair, with the factors and biases of all experts.
  static void finish(const Case& c, const std::vector<float>& factors, Made& made) {
    const std::vector<float> bias = made.random.reals(size_of(c.experts, c.outputs));
    if (c.bias) made.product.bias = made.rig->input("bias", bias);
    for (std::size_t i = 0; i < made.v.size(); ++i) {
      const std::size_t pair = i / size_of(c.outputs);
      made.v[i] = factors[pair / size_of(made.product.pairs_per_row)] * made.v[i];
      const std::size_t expert = made.choices[pair].expert;
      if (c.bias)
        made.v[i] = made.v[i] + bias[expert * size_of(c.outputs) + i % size_of(c.outputs)];
    }
  }

  /// In tiles of as many pairs as the kernel takes.
  template <class Args>
  static void launch_in_tiles(KernelRig& rig, const Case& c,
                              const std::vector<ExpertChoice>& choices, Args args) {
    PlanOnHost plan(choices, c.experts, args.tile_rows());
    const auto tiles = static_cast<std::uint32_t>(plan.tiles.size());
    plan.tiles.push_back({77, 77, 77});  // beyond the count
    args.product.plan = {.pairs = rig.input("pairs", plan.pairs),
                         .tiles = rig.input("tiles", plan.tiles),
                         .tiles_count = rig.input("tiles_count", std::vector{tiles}),
                         .counts = nullptr};
    args.product.tiles_max =
        expert_tiles_max(args.product.rows_max, c.experts, c.per_row, args.tile_rows());
    rig.expect(launch_of(args, args.shape()));
  }

  static testing::Message text_of(const Case& c) {
    return testing::Message() << "rows " << c.rows << ", " << c.of_first << " of the first, K "
                              << c.inputs << " N " << c.outputs << " E " << c.experts << " A "
                              << c.per_row;
  }

  template <class Half>
  void expect_plain(const Case& c) const {
    SCOPED_TRACE(text_of(c));
    Made made = make(c, half_type<Half>());
    std::vector<float> before(made.v.size() + size_of(c.outputs), 7.0f);
    std::vector<float> after = before;
    std::ranges::copy(made.v, after.begin());
    made.product.y = made.rig->output("y", before, after);
    launch(*made.rig, c, made.choices, made.product);
  }

  template <class Half>
  void expect_gated(const Case& c, const GluFunction& function) const {
    SCOPED_TRACE(text_of(c) << " gated");
    Made made = make(c, half_type<Half>());
    const int half = c.outputs / 2;
    const std::vector<Half> before(size_of(c.rows * c.per_row + 1, half), Half{0xffff});
    std::vector<Half> h = before;
    std::vector<float> gated(size_of(half));
    for (std::size_t pair = 0; pair < made.choices.size(); ++pair) {
      const float* const gate = &made.v[pair * size_of(c.outputs)];
      if (function.kind == GluFunction::Kind::silu) {
        numerics::silu_multiply(gate, gate + half, half, gated.data());
      } else {
        numerics::clamped_swiglu(gate, gate + half, function.clamp, half, gated.data());
      }
      for (std::size_t i = 0; i < gated.size(); ++i) {
        h[pair * gated.size() + i] = numerics::half_of<Half>(gated[i]);
      }
    }
    made.product.gated = {.h = made.rig->output("gated", before, h), .function = function};
    launch(*made.rig, c, made.choices, made.product);
  }
};

}  // namespace forge::gpu
