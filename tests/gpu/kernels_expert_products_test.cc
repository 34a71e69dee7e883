// project_experts_narrow and project_experts_wide: the row of each pair has the bits of its row
// with its expert's matrix alone (numerics/tensor_product.h), whatever the kernel and whichever
// pairs share a tile; and what becomes of it are the CPU's functions. Both kernels have the same
// bits, and each case is run with both.
#include <algorithm>
#include <span>

#include "forge/numerics/scaled_norm.h"
#include "forge/numerics/tensor_product.h"
#include "forge/numerics/vector_ops.h"
#include "gpu/expert_choices.h"
#include "gpu/kernel_rig.h"
#include "gpu/step_of.h"

namespace forge::gpu {
namespace {

using numerics::HalfType;

/// Each of `rows` rows chooses `per_row` experts; `of_first` of them the first, the others not.
std::vector<ExpertChoice> choices_with(int rows, int of_first, int experts, int per_row,
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

struct Case {
  int rows;
  int of_first;  ///< of them the first expert has
  int inputs;
  int outputs;
  int experts = 4;
  int per_row = 2;
  bool rows_of_pairs = false;  ///< x has a row for each pair
  bool norm = false;
  bool bias = false;
};

class ExpertProducts : public KernelTest {
 protected:
  template <class Half>
  struct Made {
    std::unique_ptr<KernelRig> rig;
    std::vector<ExpertChoice> choices;
    ExpertProduct product;
    std::vector<float> v;  ///< [T A][N], by definition
  };

  template <class Half>
  Made<Half> make(const Case& c) const {
    Random random(size_of(c.rows) + 100 * size_of(c.inputs) + 10'000 * size_of(c.outputs));
    Made<Half> made{
        rig(random.word()), choices_with(c.rows, c.of_first, c.experts, c.per_row, random), {}, {}};
    KernelRig& rig = *made.rig;
    const std::size_t K = size_of(c.inputs);
    const std::size_t matrix = size_of(ceil_div(c.outputs, 32) * 32, c.inputs);
    const auto halves = [&](std::size_t count, float range) {
      std::vector<Half> numbers;
      for (const float x : random.reals(count, range)) {
        numbers.push_back(numerics::half_of<Half>(x));
      }
      return numbers;
    };
    const std::vector<Half> weights = halves(size_of(c.experts) * matrix, 1);
    const int pairs_per_row = c.rows_of_pairs ? 1 : c.per_row;
    const int x_rows = std::max(1, c.rows * c.per_row / pairs_per_row);
    const std::vector<Half> x = halves(size_of(x_rows, c.inputs), 3);
    const int groups = c.inputs / numerics::kSquaresGroup;
    std::vector<float> squares = random.reals(size_of(x_rows, groups));
    for (float& square : squares) square = square * square * 9;
    const std::vector<float> bias = random.reals(size_of(c.experts, c.outputs));
    made.product = {
        .plan = {},
        .rows_max = c.rows + kRowsBeyond,
        .tiles_max = 0,
        .x = rig.input("x", x),
        .pairs_per_row = pairs_per_row,
        .inputs = c.inputs,
        .outputs = c.outputs,
        .type = std::is_same_v<Half, numerics::F16> ? HalfType::f16 : HalfType::bf16,
        .weights = rig.input("weights", weights),
        .matrix_bytes = matrix * sizeof(Half),
        .norm = {.squares = c.norm ? rig.input("squares", squares) : nullptr, .eps = 1e-5f},
        .bias = c.bias ? rig.input("bias", bias) : nullptr};
    for (std::size_t pair = 0; pair < made.choices.size(); ++pair) {
      const std::size_t row = pair / size_of(pairs_per_row);
      const std::size_t expert = made.choices[pair].expert;
      const float sum = numerics::sum_reference(&squares[row * size_of(groups)], groups);
      const float factor =
          c.norm ? numerics::scaled_norm_factor(sum, c.inputs, made.product.norm.eps) : 1.0f;
      for (std::size_t n = 0; n < size_of(c.outputs); ++n) {
        const auto w = std::span(weights).subspan(expert * matrix + n * K, K);
        float v = factor * numerics::tensor_product<Half>(step_of(GetParam()), w,
                                                          std::span(x).subspan(row * K, K));
        if (c.bias) v = v + bias[expert * size_of(c.outputs) + n];
        made.v.push_back(v);
      }
    }
    return made;
  }

  /// With both kernels, and all blocks of project_experts_wide.
  static void launch(KernelRig& rig, const Case& c, const std::vector<ExpertChoice>& choices,
                     const ExpertProduct& product) {
    const auto with = [&](auto args) {
      PlanOnHost plan(choices, c.experts, args.tile_rows());
      const auto tiles = static_cast<std::uint32_t>(plan.tiles.size());
      plan.tiles.push_back({77, 77, 77});  // beyond the count
      args.product.plan = {.pairs = rig.input("pairs", plan.pairs),
                           .tiles = rig.input("tiles", plan.tiles),
                           .tiles_count = rig.input("tiles_count", std::vector{tiles}),
                           .counts = nullptr};
      args.product.tiles_max =
          expert_tiles_max(product.rows_max, c.experts, c.per_row, args.tile_rows());
      rig.expect(launch_of(args, args.shape()));
    };
    for (const WideKind kind : {WideKind::large, WideKind::small, WideKind::slim}) {
      with(ProjectExpertsWideArgs{product, kind});
    }
    with(ProjectExpertsNarrowArgs{product});
  }

  static testing::Message text_of(const Case& c) {
    return testing::Message() << "rows " << c.rows << ", " << c.of_first << " of the first, K "
                              << c.inputs << " N " << c.outputs << " E " << c.experts << " A "
                              << c.per_row;
  }

  template <class Half>
  void expect_plain(const Case& c) const {
    SCOPED_TRACE(text_of(c));
    auto made = make<Half>(c);
    std::vector<float> before(made.v.size() + size_of(c.outputs), 7.0f);
    std::vector<float> after = before;
    std::ranges::copy(made.v, after.begin());
    made.product.y = made.rig->output("y", before, after);
    launch(*made.rig, c, made.choices, made.product);
  }

  template <class Half>
  void expect_gated(const Case& c, const GluFunction& function) const {
    SCOPED_TRACE(text_of(c) << " gated");
    auto made = make<Half>(c);
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
    const Case c{.rows = 5, .of_first = 3, .inputs = inputs, .outputs = 16};
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
    const Case c{.rows = rows,
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
