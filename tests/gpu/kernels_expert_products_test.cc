// project_experts_narrow and project_experts_wide: the row of each pair has the bits of its row
// with its expert's matrix alone (numerics/tensor_product.h), whatever the kernel and whichever
// pairs share a tile; and what becomes of it are the CPU's functions. Both kernels have the same
// bits, and each case is run with both.
#include <algorithm>
#include <span>

#include "gpu/expert_product_test.h"
#include "gpu/step_of.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;

class ExpertProducts : public ExpertProductTest {
 protected:
  Made make(const Case& c, HalfType type) const override {
    return type == HalfType::f16 ? made_of<numerics::F16>(c) : made_of<numerics::BF16>(c);
  }

  template <class Half>
  Made made_of(const Case& c) const {
    std::vector<float> factors;
    Made made = begin(c, half_type<Half>(), factors);
    const std::size_t K = size_of(c.inputs);
    const std::size_t matrix = size_of(ceil_div(c.outputs, 32) * 32, c.inputs);
    const auto halves = [&](std::size_t count, float range) {
      std::vector<Half> numbers;
      for (const float x : made.random.reals(count, range)) {
        numbers.push_back(numerics::half_of<Half>(x));
      }
      return numbers;
    };
    const std::vector<Half> weights = halves(size_of(c.experts) * matrix, 1);
    const std::vector<Half> x = halves(size_of(x_rows(c), c.inputs), 3);
    made.product.x = made.rig->input("x", x);
    made.product.weights = made.rig->input("weights", weights);
    made.product.matrix_bytes = matrix * sizeof(Half);
    for (std::size_t pair = 0; pair < made.choices.size(); ++pair) {
      const std::size_t row = pair / size_of(made.product.pairs_per_row);
      const std::size_t expert = made.choices[pair].expert;
      for (std::size_t n = 0; n < size_of(c.outputs); ++n) {
        const auto w = std::span(weights).subspan(expert * matrix + n * K, K);
        made.v.push_back(numerics::tensor_product<Half>(step_of(GetParam()), w,
                                                        std::span(x).subspan(row * K, K)));
      }
    }
    finish(c, factors, made);
    return made;
  }

  /// With both kernels, and all blocks of project_experts_wide.
  void launch(KernelRig& rig, const Case& c, const std::vector<ExpertChoice>& choices,
              const ExpertProduct& product) const override {
    for (const WideKind kind : {WideKind::large, WideKind::small, WideKind::slim}) {
      launch_in_tiles(rig, c, choices, ProjectExpertsWideArgs{product, kind});
    }
    launch_in_tiles(rig, c, choices, ProjectExpertsNarrowArgs{product});
  }
};

/// The first expert has no row, one, all of them, and as many as lie on both sides of a tile.
TEST_P(ExpertProducts, serves_any_number_of_rows_of_an_expert) {
  using numerics::BF16;
  for (const int of_first : {0, 1, 15, 16, 17, 20}) {
    expect_plain<BF16>({.rows = 20, .of_first = of_first, .inputs = 24, .outputs = 17});
  }
  for (const int of_first : {63, 64, 65, 127, 128, 129}) {
    expect_plain<BF16>({.rows = 130, .of_first = of_first, .inputs = 24, .outputs = 8});
  }
  expect_plain<BF16>({.rows = 0, .of_first = 0, .inputs = 24, .outputs = 8});
}

TEST_P(ExpertProducts, serves_rows_of_one_expert_and_of_many) {
  using numerics::BF16;
  expect_plain<BF16>(
      {.rows = 33, .of_first = 33, .inputs = 40, .outputs = 9, .experts = 2, .per_row = 1});
  for (const int rows : {1, 3, 9}) {
    expect_plain<numerics::F16>(
        {.rows = rows, .of_first = 1, .inputs = 40, .outputs = 24, .experts = 12, .per_row = 8});
  }
}

/// K: less than a step, a stage and a tail, both rings twice and a tail.
TEST_P(ExpertProducts, has_the_steps_of_every_number_of_inputs) {
  for (const int inputs : {8, 136, 2184}) {
    const ExpertCase c{.rows = 5, .of_first = 3, .inputs = inputs, .outputs = 16};
    expect_plain<numerics::BF16>(c);
  }
  expect_plain<numerics::F16>(
      {.rows = 5, .of_first = 5, .inputs = 264, .outputs = 8, .rows_of_pairs = true});
}

/// Outputs on both sides of the tiles of a warp and of a block.
TEST_P(ExpertProducts, serves_any_number_of_outputs) {
  for (const int outputs : {1, 8, 31, 63, 65, 127, 129}) {
    expect_plain<numerics::BF16>({.rows = 3,
                                  .of_first = 2,
                                  .inputs = 24,
                                  .outputs = outputs,
                                  .rows_of_pairs = outputs % 2 == 0,
                                  .bias = true});
  }
}

TEST_P(ExpertProducts, multiplies_by_the_factor_of_the_norm_of_its_row) {
  for (const int rows : {1, 11, 19}) {
    const ExpertCase c{.rows = rows,
                       .of_first = rows,
                       .inputs = 328,
                       .outputs = 24,
                       .per_row = 3,
                       .norm = true,
                       .bias = true};
    expect_plain<numerics::BF16>(c);
  }
}

TEST_P(ExpertProducts, gates_its_outputs) {
  for (const int outputs : {16, 2 * 20, 2 * 68}) {
    expect_gated<numerics::BF16>(
        {.rows = 18, .of_first = 17, .inputs = 136, .outputs = outputs, .norm = true}, {});
    expect_gated<numerics::F16>(
        {.rows = 3, .of_first = 2, .inputs = 40, .outputs = outputs, .bias = true},
        {GluFunction::Kind::clamped_swiglu, {.alpha = 1.7f, .limit = 0.5f}});
  }
}

TEST(ExpertChoices, are_those_that_the_cases_say) {
  Random random(1);
  const std::vector<ExpertChoice> choices = choices_with(130, 128, 4, 2, random);
  EXPECT_EQ(std::ranges::count(choices, 0u, &ExpertChoice::expert), 128);
  EXPECT_EQ(PlanOnHost(choices, 4, 128).tiles.front().count, 128u);
  EXPECT_EQ(choices_with(3, 1, 12, 8, random).size(), 24u);
}

FORGE_KERNEL_TEST_TARGETS(ExpertProducts);

}  // namespace
}  // namespace forge::gpu
