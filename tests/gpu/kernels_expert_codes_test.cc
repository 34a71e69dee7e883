// project_experts_codes_narrow and project_experts_codes_wide: the row of each pair has the bits of
// its row with its expert's codes alone (linear/product.h), whatever the kernel and the stored form
// and whichever pairs share a tile; and what becomes of it are the CPU's functions. Both kernels
// have the same bits, and each case is run with both.
#include <span>

#include "forge/linear/linear_weights.h"
#include "forge/linear/product.h"
#include "gpu/coded_rows.h"
#include "gpu/expert_product_test.h"

namespace forge::gpu {
namespace {

using linear::Form;
using numerics::BF16;
using numerics::F16;
using numerics::HalfType;

class ExpertCodes : public ExpertProductTest {
 protected:
  Made make(const Case& c, HalfType type) const override {
    std::vector<float> factors;
    Made made = begin(c, type, factors);
    const std::vector<float> x = made.random.reals(size_of(x_rows(c), c.inputs), 3);
    made.product.x = made.rig->input("x", coded(x, c.inputs));
    linear::ThreadPool pool(1);
    std::vector<std::unique_ptr<linear::CodeLayer>> experts;
    std::vector<std::byte> panels;
    for (int expert = 0; expert < c.experts; ++expert) {
      const auto& layer = experts.emplace_back(linear::code_layer({.form = c.form,
                                                                   .outputs = c.outputs,
                                                                   .inputs = c.inputs,
                                                                   .group_size = 32,
                                                                   .seed = made.random.word()}));
      const linear::LinearWeights weights(std::span(&layer->linear, 1), pool,
                                          linear::Numerics::canonical);
      const std::byte* const first = weights.sections().front().panels;
      panels.insert(panels.end(), first, first + weights.bytes());
    }
    made.product.matrix_bytes = panels.size() / size_of(c.experts);
    made.product.weights = made.rig->input("weights", panels);
    made.v.resize(made.choices.size() * size_of(c.outputs));
    for (std::size_t pair = 0; pair < made.choices.size(); ++pair) {
      const std::size_t row = pair / size_of(made.product.pairs_per_row);
      const linear::StoredLinear& matrix = experts[made.choices[pair].expert]->linear;
      linear::multiply_reference(&x[row * size_of(c.inputs)], 1, std::span(&matrix, 1),
                                 &made.v[pair * size_of(c.outputs)]);
    }
    finish(c, factors, made);
    return made;
  }

  void launch(KernelRig& rig, const Case& c, const std::vector<ExpertChoice>& choices,
              const ExpertProduct& product) const override {
    const linear::PanelKind kind = linear::panel_kind(
        linear::code_layer({.form = c.form, .outputs = 32, .inputs = c.inputs, .group_size = 32})
            ->linear);
    launch_in_tiles(rig, c, choices, ProjectExpertsCodesWideArgs{product, kind});
    launch_in_tiles(rig, c, choices, ProjectExpertsCodesNarrowArgs{product, kind});
  }
};

/// All whose inputs are in order, which those of experts are.
TEST_P(ExpertCodes, have_the_bits_of_the_cpu_for_every_form) {
  for (const Form form : linear::kForms) {
    if (form == Form::gptq_act_order) continue;
    SCOPED_TRACE(name_of(form));
    expect_plain<BF16>({.rows = 5, .of_first = 3, .inputs = 256, .outputs = 40, .form = form});
  }
}

/// The first expert has no row, one, all of them, and as many as lie on both sides of a tile.
TEST_P(ExpertCodes, serve_any_number_of_rows_of_an_expert) {
  for (const int of_first : {0, 1, 7, 8, 9, 15, 16, 17, 20}) {
    expect_plain<BF16>(
        {.rows = 20, .of_first = of_first, .inputs = 64, .outputs = 17, .form = Form::q4_0});
  }
  for (const int of_first : {32, 33, 63, 64, 65, 129}) {
    expect_plain<BF16>(
        {.rows = 130, .of_first = of_first, .inputs = 32, .outputs = 8, .form = Form::mxfp4});
  }
  expect_plain<BF16>({.rows = 0, .of_first = 0, .inputs = 64, .outputs = 8});
}

TEST_P(ExpertCodes, serve_rows_of_one_expert_and_of_many) {
  expect_plain<BF16>(
      {.rows = 33, .of_first = 33, .inputs = 64, .outputs = 9, .experts = 2, .per_row = 1});
  for (const int rows : {1, 3, 9}) {
    expect_plain<F16>(
        {.rows = rows, .of_first = 1, .inputs = 32, .outputs = 24, .experts = 12, .per_row = 8});
  }
}

/// K: a group and less, stages and a tail, more than the ring and a tail.
TEST_P(ExpertCodes, have_the_groups_of_every_number_of_inputs) {
  for (const int inputs : {32, 160, 288, 2592}) {
    expect_plain<BF16>(
        {.rows = 5, .of_first = 3, .inputs = inputs, .outputs = 16, .form = Form::q4_0});
  }
  for (const int inputs : {8, 50, 264}) {
    expect_plain<F16>({.rows = 5,
                       .of_first = 5,
                       .inputs = inputs,
                       .outputs = 9,
                       .rows_of_pairs = true,
                       .form = Form::int8});
  }
  expect_plain<BF16>({.rows = 2, .of_first = 1, .inputs = 2560, .outputs = 33, .form = Form::q4_k});
}

/// Outputs on both sides of the tiles of a warp, a panel and a block.
TEST_P(ExpertCodes, serve_any_number_of_outputs) {
  for (const int outputs : {1, 8, 31, 33, 64, 65, 97}) {
    expect_plain<BF16>({.rows = 3,
                        .of_first = 2,
                        .inputs = 64,
                        .outputs = outputs,
                        .rows_of_pairs = outputs % 2 == 0,
                        .bias = true,
                        .form = Form::q5_1});
  }
}

TEST_P(ExpertCodes, multiply_by_the_factor_of_the_norm_of_their_row) {
  for (const int rows : {1, 11, 19}) {
    expect_plain<BF16>({.rows = rows,
                        .of_first = rows,
                        .inputs = 256,
                        .outputs = 24,
                        .per_row = 3,
                        .norm = true,
                        .bias = true,
                        .form = Form::q6_k});
  }
}

/// Gates and ups are panels of their own.
TEST_P(ExpertCodes, gate_their_outputs) {
  for (const Form form : {Form::q8_0, Form::mxfp4, Form::q2_k}) {
    expect_gated<BF16>(
        {.rows = 18, .of_first = 17, .inputs = 256, .outputs = 128, .norm = true, .form = form},
        {});
    expect_gated<F16>(
        {.rows = 3, .of_first = 2, .inputs = 256, .outputs = 192, .bias = true, .form = form},
        {GluFunction::Kind::clamped_swiglu, {.alpha = 1.7f, .limit = 0.5f}});
  }
}

FORGE_KERNEL_TEST_TARGETS(ExpertCodes);

}  // namespace
}  // namespace forge::gpu
