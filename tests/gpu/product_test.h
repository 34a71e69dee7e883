// ProductTest: what becomes of the products of a kernel on tensor cores (tensor_product.h). A suite
// says how it makes a case, with v of each output by definition, and which kernels it launches.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "forge/numerics/scaled_norm.h"
#include "forge/numerics/tensor_product.h"
#include "forge/numerics/vector_ops.h"
#include "gpu/candidates_of.h"
#include "gpu/kernel_rig.h"
#include "linear/code_layers.h"

namespace forge::gpu {

template <class Half>
constexpr numerics::HalfType half_type() {
  return std::is_same_v<Half, numerics::F16> ? numerics::HalfType::f16 : numerics::HalfType::bf16;
}

struct ProductCase {
  int rows;
  int inputs;
  int outputs;
  int rows_more = 0;  ///< that the launch covers
  bool norm = false;
  bool bias = false;
  float multiplier = 1;
  float cap = 0;
  int tiles_along_y = 0;           ///< of the grid of a kernel for few rows; 0: as the shape says
  bool flat = false;               ///< all outputs have the weights of the first
  std::vector<float> biases = {};  ///< [N] in place of random ones
  linear::Form form = linear::Form::q8_0;  ///< of weights, where they are codes
};

class ProductTest : public KernelTest {
 protected:
  using Case = ProductCase;

  static std::size_t size(int a, int b = 1) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
  }

  template <class Half>
  static std::vector<Half> halves_of(const std::vector<float>& numbers) {
    std::vector<Half> halves;
    halves.reserve(numbers.size());
    for (const float number : numbers) halves.push_back(numerics::half_of<Half>(number));
    return halves;
  }

  /// The arrays of a case, its arguments, and v of each output by definition.
  struct Made {
    Random random;
    std::unique_ptr<KernelRig> rig;
    TensorProduct product;
    std::vector<float> v;  ///< [rows][N]
  };

  virtual Made make(const Case& c, numerics::HalfType type) const = 0;
  /// By each kernel of the suite.
  virtual void launch(KernelRig& rig, const Case& c, const TensorProduct& product) const = 0;

  static testing::Message text_of(const Case& c) {
    return testing::Message() << "rows " << c.rows << " of " << c.rows + c.rows_more << " K "
                              << c.inputs << " N " << c.outputs;
  }

  template <class Half>
  void expect_plain(const Case& c) const {
    SCOPED_TRACE(text_of(c));
    Made made = make(c, half_type<Half>());
    const std::vector<float> before = made.random.reals(size(c.rows + c.rows_more, c.outputs));
    std::vector<float> after = before;
    std::ranges::copy(plain(c, made.v), after.begin());
    made.product.y = made.rig->output("y", before, after);
    launch(*made.rig, c, made.product);
  }

  /// y of a case, [rows][N].
  static std::vector<float> plain(const Case& c, const std::vector<float>& v) {
    std::vector<float> y;
    for (const float each : v) {
      const float scaled = c.multiplier * each;
      y.push_back(c.cap > 0 ? numerics::soft_cap(scaled, c.cap) : scaled);
    }
    return y;
  }

  /// Candidates alone, and beside y.
  template <class Half>
  void expect_candidates(const Case& c) const {
    SCOPED_TRACE(text_of(c) << " candidates");
    Made made = make(c, half_type<Half>());
    const std::vector<float> y = plain(c, made.v);
    const auto of_row = size(candidate_count(c.outputs));
    const std::vector<sampling::BestToken> before(size(c.rows + c.rows_more) * of_row, {7.0f, 7});
    std::vector<sampling::BestToken> after;
    for (int row = 0; row < c.rows; ++row) {
      append_candidates(std::span(y).subspan(size(row, c.outputs), size(c.outputs)), after);
    }
    after.resize(before.size(), before[0]);
    made.product.candidates = made.rig->output("candidates", before, after);
    launch(*made.rig, c, made.product);
    made.product.y = made.rig->output("y", y);
    launch(*made.rig, c, made.product);
  }

  /// next: whether the rows of the next norm are wanted; weight: whether it has weights.
  template <class Half>
  void expect_added(const Case& c, bool next, bool weight) const {
    SCOPED_TRACE(text_of(c) << " added" << (next ? ", next" : "") << (weight ? ", weight" : ""));
    Made made = make(c, half_type<Half>());
    KernelRig& rig = *made.rig;
    const int rows_max = c.rows + c.rows_more;
    const std::vector<float> before = made.random.reals(size(rows_max, c.outputs), 2);
    std::vector<float> after = before;
    numerics::add_scaled(after.data(), made.v.data(), c.multiplier,
                         static_cast<int>(made.v.size()));
    made.product.y = rig.output("y", before, after);
    made.product.accumulate = true;
    if (next) {
      const std::vector<float> weights = made.random.reals(size(c.outputs));
      std::vector<Half> h(size(rows_max, c.outputs), Half{0xffff});
      std::vector<float> squares(size(rows_max, c.outputs / 8), 7.0f);
      const std::vector<Half> h_before = h;
      const std::vector<float> squares_before = squares;
      for (std::size_t i = 0; i < made.v.size(); ++i) {
        h[i] = numerics::half_of<Half>(weight ? after[i] * weights[i % size(c.outputs)] : after[i]);
        if (i % 8 == 0) squares[i / 8] = numerics::group_of_squares(&after[i]);
      }
      made.product.next = {
          .h = rig.output("h", h_before, h),
          .weight = weight ? rig.input("weight", weights) : nullptr,
          .squares = weight ? rig.output("squares", squares_before, squares) : nullptr};
    }
    launch(rig, c, made.product);
  }

  template <class Half>
  void expect_gated(const Case& c, const GluFunction& function) const {
    SCOPED_TRACE(text_of(c) << " gated");
    Made made = make(c, half_type<Half>());
    const int half = c.outputs / 2;
    std::vector<Half> h(size(c.rows + c.rows_more, half), Half{0xffff});
    const std::vector<Half> before = h;
    for (int row = 0; row < c.rows; ++row) {
      const float* const gate = &made.v[size(row, c.outputs)];
      std::vector<float> gated(size(half));
      if (function.kind == GluFunction::Kind::silu) {
        numerics::silu_multiply(gate, gate + half, half, gated.data());
      } else {
        numerics::clamped_swiglu(gate, gate + half, function.clamp, half, gated.data());
      }
      std::ranges::copy(halves_of<Half>(gated), h.begin() + row * half);
    }
    made.product.gated = {.h = made.rig->output("gated", before, h), .function = function};
    launch(*made.rig, c, made.product);
  }
};

}  // namespace forge::gpu
