// project_codes_few, _narrow and _wide: every output has the bits of linear/product.h, whatever the
// kernel, the stored form, the rows and the tile; and what becomes of it are the CPU's functions,
// one after the other. So all have the same bits, and each case is run with each.
#include "forge/linear/linear_weights.h"
#include "forge/linear/product.h"
#include "gpu/coded_rows.h"
#include "gpu/product_test.h"

namespace forge::gpu {
namespace {

using linear::Form;
using linear::kForms;
using numerics::HalfType;

/// All forms whose inputs are in order: what is done about an order is done to rows (code_rows.h).
std::vector<Form> forms() {
  std::vector<Form> all = kForms;
  std::erase(all, Form::gptq_act_order);
  return all;
}

class CodeProducts : public ProductTest {
 protected:
  static std::unique_ptr<linear::CodeLayer> layer_of(const Case& c) {
    return linear::code_layer(
        {.form = c.form, .outputs = c.outputs, .inputs = c.inputs, .group_size = 32});
  }

  Made make(const Case& c, HalfType type) const override {
    Random random(size(c.rows) + 100 * size(c.inputs) + 10'000 * size(c.outputs));
    Made made{random, rig(random.word()), {}, {}};
    KernelRig& rig = *made.rig;
    const auto layer = layer_of(c);
    linear::ThreadPool pool(1);
    const linear::LinearWeights weights(std::span(&layer->linear, 1), pool,
                                        linear::Numerics::canonical);
    const std::byte* const panels = weights.sections().front().panels;
    const int rows = std::max(c.rows, 1);
    const std::vector<float> x = random.reals(size(rows, c.inputs), 3);
    const int groups = c.inputs / numerics::kSquaresGroup;
    std::vector<float> squares = random.reals(size(rows, groups));
    for (float& square : squares) square = square * square * 9;
    const std::vector<float> bias = random.reals(size(c.outputs));
    made.product = {
        .row_count =
            rig.input("row_count", std::vector<std::uint32_t>{static_cast<std::uint32_t>(c.rows)}),
        .rows_max = c.rows + c.rows_more,
        .x = rig.input("x", coded(x, c.inputs)),
        .weights = rig.input("weights", std::vector<std::byte>(panels, panels + weights.bytes())),
        .inputs = c.inputs,
        .outputs = c.outputs,
        .type = type,
        .norm = {.squares = c.norm ? rig.input("squares", squares) : nullptr, .eps = 1e-5f},
        .bias = c.bias ? rig.input("bias", bias) : nullptr,
        .multiplier = c.multiplier,
        .cap = c.cap};
    made.v.resize(size(c.rows, c.outputs));
    linear::multiply_reference(x.data(), c.rows, std::span(&layer->linear, 1), made.v.data());
    for (std::size_t i = 0; i < made.v.size(); ++i) {
      const std::size_t row = i / size(c.outputs);
      const float sum = numerics::sum_reference(&squares[row * size(groups)], groups);
      const float factor =
          c.norm ? numerics::scaled_norm_factor(sum, c.inputs, made.product.norm.eps) : 1.0f;
      made.v[i] = factor * made.v[i];
      if (c.bias) made.v[i] = made.v[i] + bias[i % size(c.outputs)];
    }
    return made;
  }

  void launch(KernelRig& rig, const Case& c, const TensorProduct& product) const override {
    const CodeProduct codes{product, linear::panel_kind(layer_of(c)->linear)};
    const ProjectCodesWideArgs wide{codes};
    rig.expect(launch_of(wide, wide.shape()));
    expect_along_z(rig, c, ProjectCodesNarrowArgs{codes});
    expect_along_z(rig, c, ProjectCodesFewArgs{codes});
  }

  template <class Args>
  static void expect_along_z(KernelRig& rig, const Case& c, const Args& args) {
    simt::LaunchShape shape = args.shape();
    if (c.tiles_along_y > 0) {
      shape.grid.z = ceil_div(shape.grid.y, c.tiles_along_y);
      shape.grid.y = c.tiles_along_y;
    }
    rig.expect(launch_of(args, shape));
  }
};

TEST_P(CodeProducts, have_the_bits_of_the_cpu_for_every_form) {
  for (const Form form : forms()) {
    SCOPED_TRACE(name_of(form));
    for (const int rows : {1, 3}) {
      expect_plain<numerics::BF16>({.rows = rows, .inputs = 512, .outputs = 40, .form = form});
    }
  }
}

/// K: a group, less than a stage, stages and a tail, more than the ring and a tail.
TEST_P(CodeProducts, have_the_groups_of_every_number_of_inputs) {
  for (const int inputs : {32, 96, 128, 160, 256, 288, 2592}) {
    expect_plain<numerics::BF16>({.rows = 1, .inputs = inputs, .outputs = 32, .form = Form::q4_0});
    expect_plain<numerics::F16>({.rows = 2, .inputs = inputs, .outputs = 8, .form = Form::q8_0});
  }
  for (const int inputs : {31, 50, 264}) {
    expect_plain<numerics::BF16>({.rows = 2, .inputs = inputs, .outputs = 9, .form = Form::int8});
  }
  for (const Form form : {Form::q4_k, Form::q6_k, Form::q2_k}) {
    expect_plain<numerics::BF16>({.rows = 2, .inputs = 2560, .outputs = 33, .form = form});
  }
}

/// Rows on both sides of each tile of the tensor core and of a block; outputs of every tile.
TEST_P(CodeProducts, serve_any_number_of_rows_and_outputs) {
  for (const int rows : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129}) {
    expect_plain<numerics::BF16>({.rows = rows, .inputs = 64, .outputs = 24, .form = Form::q4_0});
  }
  for (const int outputs : {1, 7, 8, 9, 31, 33, 64, 65, 97}) {
    expect_plain<numerics::F16>({.rows = 3, .inputs = 64, .outputs = outputs, .form = Form::q5_1});
  }
  expect_plain<numerics::BF16>(
      {.rows = 100, .inputs = 256, .outputs = 133, .norm = true, .bias = true, .form = Form::q4_k});
}

TEST_P(CodeProducts, leave_rows_alone_that_are_not_there) {
  for (const Form form : {Form::q8_0, Form::q3_k}) {
    expect_plain<numerics::BF16>(
        {.rows = 0, .inputs = 512, .outputs = 40, .rows_more = 1, .form = form});
    expect_plain<numerics::BF16>(
        {.rows = 3, .inputs = 512, .outputs = 40, .rows_more = 70, .form = form});
    expect_plain<numerics::BF16>(
        {.rows = 70, .inputs = 256, .outputs = 16, .rows_more = 130, .form = form});
  }
}

TEST_P(CodeProducts, multiply_by_the_factor_of_the_norm_add_the_bias_and_cap) {
  for (const int rows : {1, 11, 40}) {
    expect_plain<numerics::F16>({.rows = rows,
                                 .inputs = 256,
                                 .outputs = 21,
                                 .norm = true,
                                 .bias = true,
                                 .multiplier = 0.125f,
                                 .cap = 1.5f,
                                 .form = Form::q6_k});
  }
}

TEST_P(CodeProducts, add_to_the_residual_stream_and_leave_what_the_next_norm_needs) {
  for (const int rows : {1, 5, 18, 66}) {
    const Case c{.rows = rows,
                 .inputs = 64,
                 .outputs = 72,
                 .bias = true,
                 .multiplier = 0.5f,
                 .form = Form::q5_0};
    expect_added<numerics::BF16>(c, true, true);
    expect_added<numerics::F16>(c, true, false);
  }
  expect_added<numerics::F16>({.rows = 2, .inputs = 64, .outputs = 13}, false, false);
}

/// Gates and ups are panels of their own.
TEST_P(CodeProducts, gate_their_outputs) {
  for (const Form form : {Form::q8_0, Form::q4_k, Form::q2_k}) {
    for (const int rows : {1, 6, 20, 67}) {
      expect_gated<numerics::BF16>(
          {.rows = rows, .inputs = 256, .outputs = 128, .norm = true, .form = form}, {});
    }
    expect_gated<numerics::F16>(
        {.rows = 6, .inputs = 256, .outputs = 192, .bias = true, .form = form},
        {GluFunction::Kind::clamped_swiglu, {.alpha = 1.7f, .limit = 0.5f}});
  }
}

TEST_P(CodeProducts, leave_the_largest_of_eight_outputs_of_every_row) {
  for (const int rows : {1, 16, 17, 64, 65}) {
    expect_candidates<numerics::BF16>(
        {.rows = rows, .inputs = 32, .outputs = 43, .form = Form::iq4_nl});
  }
}

/// A grid ends at 65535 along y.
TEST_P(CodeProducts, go_on_along_z) {
  expect_plain<numerics::BF16>({.rows = 1, .inputs = 64, .outputs = 150, .tiles_along_y = 2});
}

/// Of which several stand side by side, as those of queries, keys and values.
TEST_P(CodeProducts, write_sections_of_a_row) {
  const Case c{.rows = 18, .inputs = 64, .outputs = 40};
  Made made = make(c, HalfType::bf16);
  constexpr int kStride = 100;
  constexpr int kFirst = 24;
  const std::vector<float> before = made.random.reals(size(c.rows, kStride));
  std::vector<float> after = before;
  for (std::size_t i = 0; i < made.v.size(); ++i) {
    after[i / size(c.outputs) * kStride + kFirst + i % size(c.outputs)] = made.v[i];
  }
  made.product.y = made.rig->output("y", before, after) + kFirst;
  made.product.y_stride = kStride;
  launch(*made.rig, c, made.product);
}

FORGE_KERNEL_TEST_TARGETS(CodeProducts);

/// Blocks of project_codes_few for more panels than all cases above have: they are smaller.
class SmallBlocksOfFewRows : public CodeProducts {
 protected:
  void launch(KernelRig& rig, const Case& c, const TensorProduct& product) const override {
    const ProjectCodesFewArgs args{{product, linear::panel_kind(layer_of(c)->linear)}};
    ASSERT_EQ(args.multiply_warps(), ProjectCodesFewArgs::kMultiplyWarps);
    rig.expect(launch_of(args, args.shape()));
  }
};

/// K: a group, two rounds and a tail.
TEST_P(SmallBlocksOfFewRows, have_the_bits_of_the_cpu) {
  constexpr int kPanels = ProjectCodesFewArgs::kFewPanels + 1;
  for (const int inputs : {32, 2080}) {
    expect_plain<numerics::BF16>(
        {.rows = 2, .inputs = inputs, .outputs = 32 * kPanels - 9, .form = Form::q4_0});
  }
  expect_gated<numerics::BF16>(
      {.rows = 1, .inputs = 1280, .outputs = 64 * kPanels, .form = Form::q6_k}, {});
}

FORGE_KERNEL_TEST_TARGETS(SmallBlocksOfFewRows);

}  // namespace
}  // namespace forge::gpu
