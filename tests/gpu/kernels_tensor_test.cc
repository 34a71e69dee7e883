// project_narrow and project_wide: every output is the chain of steps of numerics/tensor_product.h,
// whatever the kernel, the rows, the tile and the warps; and what becomes of it are the CPU's
// functions, one after the other. So all have the same bits, and each case is run with the one, and
// with all blocks of the other; and finish_product makes the same of sums that went through memory.
#include <span>

#include "gpu/product_test.h"
#include "gpu/step_of.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;

class TensorProducts : public ProductTest {
 protected:
  Made make(const Case& c, HalfType type) const override {
    return type == HalfType::f16 ? make_of<numerics::F16>(c) : make_of<numerics::BF16>(c);
  }

  template <class Half>
  Made make_of(const Case& c) const {
    Random random(size(c.rows) + 100 * size(c.inputs) + 10'000 * size(c.outputs));
    Made made{random, rig(random.word()), {}, {}};
    KernelRig& rig = *made.rig;
    const int padded = ceil_div(c.outputs, 32) * 32;
    std::vector<Half> weights = halves_of<Half>(random.reals(size(c.outputs, c.inputs)));
    weights.resize(size(padded, c.inputs));
    for (std::size_t i = size(c.inputs); c.flat && i < weights.size(); ++i) {
      weights[i] = weights[i - size(c.inputs)];
    }
    const auto x = halves_of<Half>(random.reals(size(std::max(c.rows, 1), c.inputs), 3));
    const int groups = c.inputs / numerics::kSquaresGroup;
    std::vector<float> squares = random.reals(size(std::max(c.rows, 1), groups));
    for (float& square : squares) square = square * square * 9;
    const std::vector<float> bias = c.biases.empty() ? random.reals(size(c.outputs)) : c.biases;
    made.product = {
        .row_count =
            rig.input("row_count", std::vector<std::uint32_t>{static_cast<std::uint32_t>(c.rows)}),
        .rows_max = c.rows + c.rows_more,
        .x = rig.input("x", x),
        .weights = rig.input("weights", weights),
        .inputs = c.inputs,
        .outputs = c.outputs,
        .type = half_type<Half>(),
        .norm = {.squares = c.norm ? rig.input("squares", squares) : nullptr, .eps = 1e-5f},
        .bias = c.bias ? rig.input("bias", bias) : nullptr,
        .multiplier = c.multiplier,
        .cap = c.cap};
    const auto row_of = [&](const std::vector<Half>& matrix, int row) {
      return std::span(matrix).subspan(size(row, c.inputs), size(c.inputs));
    };
    for (int row = 0; row < c.rows; ++row) {
      const float sum = numerics::sum_reference(&squares[size(row, groups)], groups);
      const float factor =
          c.norm ? numerics::scaled_norm_factor(sum, c.inputs, made.product.norm.eps) : 1.0f;
      for (int n = 0; n < c.outputs; ++n) {
        float v = factor * numerics::tensor_product<Half>(step_of(GetParam()), row_of(weights, n),
                                                          row_of(x, row));
        if (c.bias) v = v + bias[size(n)];
        made.v.push_back(v);
      }
    }
    return made;
  }

  void launch(KernelRig& rig, const Case& c, const TensorProduct& product) const override {
    for (const WideKind kind : {WideKind::large, WideKind::small, WideKind::slim}) {
      const ProjectWideArgs wide{product, kind};
      rig.expect(launch_of(wide, wide.shape()));
    }
    const ProjectNarrowArgs narrow{product};
    simt::LaunchShape shape = narrow.shape();
    if (c.tiles_along_y > 0) {
      shape.grid.z = ceil_div(shape.grid.y, c.tiles_along_y);
      shape.grid.y = c.tiles_along_y;
    }
    rig.expect(launch_of(narrow, shape));
    finish(rig, c, product);
  }

  /// Plain sums, as a library would leave them, and what becomes of them. There are no tails.
  static void finish(KernelRig& rig, const Case& c, const TensorProduct& product) {
    if (product.columns() % FinishProductArgs::kLaneResults != 0) return;
    const std::vector<float> unwritten(size(c.rows + c.rows_more, c.outputs), NAN);
    ProjectWideArgs sums{{.row_count = product.row_count,
                          .rows_max = product.rows_max,
                          .x = product.x,
                          .weights = product.weights,
                          .inputs = product.inputs,
                          .outputs = product.outputs,
                          .type = product.type,
                          .y = rig.input("sums", unwritten)}};
    const FinishProductArgs finish{product, sums.product.y};
    rig.expect({launch_of(sums, sums.shape()), launch_of(finish, finish.shape())});
  }
};

/// K: less than a step, a step, less than a stage, a stage and a tail, more than the ring and a
/// tail.
TEST_P(TensorProducts, has_the_steps_of_every_number_of_inputs) {
  for (const int inputs : {8, 16, 40, 128, 136, 1024, 2184}) {
    expect_plain<numerics::BF16>({.rows = 1, .inputs = inputs, .outputs = 16});
    expect_plain<numerics::F16>({.rows = 3, .inputs = inputs, .outputs = 8});
  }
}

/// Rows on both sides of each change of a block of project_narrow and of a tile of the tensor core.
TEST_P(TensorProducts, serves_any_number_of_rows_and_outputs) {
  for (const int rows : {1, 4, 5, 7, 8, 9, 15, 16, 17, 33}) {
    expect_plain<numerics::BF16>({.rows = rows, .inputs = 72, .outputs = 24});
  }
  for (const int outputs : {1, 7, 8, 9, 31, 41}) {
    expect_plain<numerics::BF16>({.rows = 2, .inputs = 24, .outputs = outputs});
    expect_plain<numerics::F16>({.rows = 6, .inputs = 24, .outputs = outputs});
  }
}

/// Rows and outputs on both sides of the tiles of a warp and of the blocks of project_wide.
TEST_P(TensorProducts, serves_many_rows_and_outputs) {
  for (const int rows : {32, 63, 64, 65, 128, 129}) {
    expect_plain<numerics::BF16>({.rows = rows, .inputs = 24, .outputs = 17});
  }
  for (const int outputs : {63, 64, 65, 97, 127, 128, 129, 161}) {
    expect_plain<numerics::F16>({.rows = 3, .inputs = 24, .outputs = outputs});
  }
  expect_plain<numerics::BF16>(
      {.rows = 200, .inputs = 72, .outputs = 268, .norm = true, .bias = true});
}

TEST_P(TensorProducts, leaves_rows_alone_that_are_not_there) {
  expect_plain<numerics::BF16>({.rows = 0, .inputs = 136, .outputs = 16, .rows_more = 1});
  expect_plain<numerics::BF16>({.rows = 3, .inputs = 136, .outputs = 16, .rows_more = 30});
  expect_plain<numerics::BF16>({.rows = 0, .inputs = 264, .outputs = 130, .rows_more = 129});
  expect_plain<numerics::BF16>({.rows = 70, .inputs = 264, .outputs = 16, .rows_more = 130});
  expect_added<numerics::BF16>({.rows = 3, .inputs = 40, .outputs = 16, .rows_more = 6}, true,
                               true);
}

TEST_P(TensorProducts, multiplies_by_the_factor_of_the_norm_adds_the_bias_and_caps) {
  for (const int rows : {1, 11}) {
    expect_plain<numerics::BF16>(
        {.rows = rows, .inputs = 328, .outputs = 24, .norm = true, .bias = true});
    expect_plain<numerics::F16>({.rows = rows,
                                 .inputs = 72,
                                 .outputs = 21,
                                 .norm = true,
                                 .bias = true,
                                 .multiplier = 0.125f,
                                 .cap = 1.5f});
  }
}

TEST_P(TensorProducts, adds_to_the_residual_stream_and_leaves_what_the_next_norm_needs) {
  for (const int rows : {1, 5, 18}) {
    const Case c{.rows = rows, .inputs = 72, .outputs = 40, .bias = true, .multiplier = 0.5f};
    expect_added<numerics::BF16>(c, true, true);
    expect_added<numerics::F16>(c, true, false);
  }
  expect_added<numerics::F16>({.rows = 2, .inputs = 72, .outputs = 13}, false, false);
  expect_added<numerics::BF16>({.rows = 130, .inputs = 40, .outputs = 136, .multiplier = 0.5f},
                               true, true);
}

TEST_P(TensorProducts, gates_its_outputs) {
  for (const int outputs : {2, 16, 24, 56, 104}) {
    expect_gated<numerics::BF16>({.rows = 1, .inputs = 136, .outputs = outputs, .norm = true}, {});
    expect_gated<numerics::F16>(
        {.rows = 6, .inputs = 40, .outputs = outputs, .bias = true},
        {GluFunction::Kind::clamped_swiglu, {.alpha = 1.7f, .limit = 0.5f}});
  }
  for (const int outputs : {64, 66, 128, 130, 2 * 108}) {
    const Case c{.rows = 67, .inputs = 40, .outputs = outputs, .norm = true, .bias = true};
    expect_gated<numerics::BF16>(c, {});
  }
}

/// Rows on both sides of each tile and of the switches from one kernel, or block, to another.
TEST_P(TensorProducts, leave_the_largest_of_eight_outputs_of_every_row) {
  for (const int rows : {1, 4, 5, 7, 8, 9, kNarrowRowsMax, kNarrowRowsMax + 1, 64, 65, 128, 129}) {
    expect_candidates<numerics::BF16>({.rows = rows, .inputs = 24, .outputs = 20});
  }
  expect_candidates<numerics::F16>({.rows = 3, .inputs = 136, .outputs = 16, .rows_more = 30});
  expect_candidates<numerics::F16>({.rows = 70, .inputs = 72, .outputs = 9, .rows_more = 130});
}

/// Outputs that fill no tile of a warp, and no block.
TEST_P(TensorProducts, leave_the_largest_of_what_there_is_of_eight_outputs) {
  for (const int outputs : {1, 7, 8, 9, 15, 63, 64, 65, 127, 129, 266}) {
    expect_candidates<numerics::BF16>({.rows = 2, .inputs = 24, .outputs = outputs});
    expect_candidates<numerics::F16>({.rows = 6,
                                      .inputs = 40,
                                      .outputs = outputs,
                                      .norm = true,
                                      .bias = true,
                                      .multiplier = 0.125f,
                                      .cap = 1.5f});
  }
  expect_candidates<numerics::BF16>({.rows = 6, .inputs = 24, .outputs = 56, .tiles_along_y = 3});
}

/// Equal outputs, within eight and in all of them; -inf, +inf and NaN, alone among others and all.
TEST_P(TensorProducts, leave_the_lower_of_equals_and_no_token_of_what_is_not_finite) {
  std::vector<float> biases(90, 0.0f);
  for (int n = 8; n < 16; ++n) biases[size(n)] = -INFINITY;
  biases[19] = biases[22] = 1.0f;
  biases[24] = -INFINITY;
  biases[37] = INFINITY;
  biases[41] = -NAN;
  biases[42] = INFINITY;
  for (int n = 48; n < 56; ++n) biases[size(n)] = NAN;
  biases[63] = -1.0f;
  biases[89] = NAN;
  for (const int rows : {1, 6, 66}) {
    const Case c{
        .rows = rows, .inputs = 40, .outputs = 90, .bias = true, .flat = true, .biases = biases};
    expect_candidates<numerics::BF16>(c);
    Case none = c;
    none.biases.assign(90, -INFINITY);
    expect_candidates<numerics::BF16>(none);
    none.biases.assign(90, NAN);
    none.cap = 2;
    expect_candidates<numerics::F16>(none);
  }
}

/// A grid ends at 65535 along y.
TEST_P(TensorProducts, goes_on_along_z) {
  expect_plain<numerics::BF16>({.rows = 1, .inputs = 24, .outputs = 40, .tiles_along_y = 2});
  expect_plain<numerics::BF16>({.rows = 6, .inputs = 24, .outputs = 56, .tiles_along_y = 3});
}

TEST(WideKinds, are_chosen_by_rows_and_for_few_of_them_by_outputs) {
  EXPECT_EQ(wide_kind(64, 4096), WideKind::slim);
  EXPECT_EQ(wide_kind(64, 4097), WideKind::small);
  EXPECT_EQ(wide_kind(65, 4096), WideKind::large);
  EXPECT_EQ(wide_kind(64), WideKind::small);
  EXPECT_EQ(wide_kind(65), WideKind::large);
}

FORGE_KERNEL_TEST_TARGETS(TensorProducts);

}  // namespace
}  // namespace forge::gpu
