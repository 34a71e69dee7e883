#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "forge/linear/product.h"
#include "forge/numerics/canonical.h"
#include "linear/float_layers.h"

namespace forge::linear {
namespace {

using numerics::bits_of;
using numerics::for_every_target;
using numerics::random_values;
using quant::WeightType;

constexpr WeightType kPlainTypes[] = {WeightType::f32, WeightType::f16, WeightType::bf16};

/// Whether products with bf16 take pairs, which round otherwise than the definition.
bool takes_pairs(WeightType type) {
  return type == WeightType::bf16 && !has_defined_bits(PanelKind::bf16, Numerics::native);
}

TEST(FloatProduct, of_f32_is_that_of_the_canonical_tier) {
  const int inputs = 700;
  const auto weights = random_values(70 * inputs, 1);
  const auto x = random_values(5 * inputs, 2);
  std::vector<float> expected;
  for (int row = 0; row < 5; ++row) {
    for (int output = 0; output < 70; ++output) {
      expected.push_back(numerics::product_reference(x.data() + row * inputs,
                                                     weights.data() + output * inputs, inputs));
    }
  }

  ThreadPool pool(2);
  StoredParts layer(inputs);
  layer.add(WeightType::f32, 70, weights);
  EXPECT_EQ(bits_of(product(x, 5, LinearWeights(layer.parts(), pool), pool)), bits_of(expected));
}

TEST(FloatProduct, of_bf16_takes_the_odd_input_of_a_pair_first) {
  const std::vector<float> x = {0.0F, 0x1p24F, 1.0F, -0x1p24F};
  const std::vector<float> ones(4, 1.0F);
  StoredParts pairs(4);
  pairs.add(WeightType::bf16, 1, ones);
  EXPECT_EQ(product_by_definition(x, 1, pairs)[0], 1.0F);
  StoredParts ascending(4);
  ascending.add(WeightType::f32, 1, ones);
  EXPECT_EQ(product_by_definition(x, 1, ascending)[0], 0.0F);  // 2^24 + 1 is rounded to 2^24
}

TEST(FloatProduct, has_the_bits_of_its_definition_on_every_target) {
  ThreadPool pool(2);
  for (const WeightType type : kPlainTypes) {
    for (const int inputs : {1, 2, 256, 257, 515}) {
      StoredParts layer(inputs);
      layer.add(type, 161);
      const LinearWeights w(layer.parts(), pool);
      for (const int rows : {1, 2, 3, 4, 5, 7, 12, 13, 25}) {
        const auto x = random_values(rows * inputs, 2);
        const auto expected = bits_of(product_by_definition(x, rows, layer));
        for_every_target([&] {
          if (takes_pairs(type)) return;
          ASSERT_EQ(bits_of(product(x, rows, w, pool)), expected)
              << name_of(type) << " rows=" << rows << " inputs=" << inputs;
        });
      }
    }
  }
}

/// Both orders have an error below n u sum |x w|, u = 2^-24, n the roundings of a chain and of its
/// segments; subnormal operands that become zeros are below it by far here.
TEST(FloatProduct, by_pairs_is_near_its_definition) {
  if (!takes_pairs(WeightType::bf16)) GTEST_SKIP() << "no instruction for pairs of bf16 here";
  ThreadPool pool(2);
  const int inputs = 600;
  StoredParts layer(inputs);
  layer.add(WeightType::bf16, 100);
  const auto x = random_values(13 * inputs, 2);
  const auto y = product(x, 13, LinearWeights(layer.parts(), pool), pool);
  const auto expected = product_by_definition(x, 13, layer);
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(y[i], expected[i], 2 * (256 + 3) * 0x1p-24 * inputs);  // |x|, |w| < 1
  }
}

TEST(FloatProduct, parts_of_mixed_kinds_land_at_their_outputs) {
  StoredParts layer(300);
  layer.add(WeightType::f32, 40, 1).add(WeightType::bf16, 33, 2).add(WeightType::bf16, 7, 3);
  layer.add(WeightType::f16, 1, 4).add(WeightType::f32, 64, 5);
  ThreadPool pool(3);
  const LinearWeights w(layer.parts(), pool);
  const auto x = random_values(15 * 300, 6);
  const auto y = product(x, 15, w, pool);
  const auto expected = product_by_definition(x, 15, layer);
  for (int row = 0; row < 15; ++row) {
    for (int output = 0; output < layer.outputs(); ++output) {
      const auto i = static_cast<std::size_t>(row * layer.outputs() + output);
      if (output >= 40 && output < 80 && takes_pairs(WeightType::bf16)) {
        EXPECT_NEAR(y[i], expected[i], 2 * (256 + 2) * 0x1p-24 * 300);
      } else {
        EXPECT_EQ(y[i], expected[i]) << "row " << row << ", output " << output;
      }
    }
  }
}

TEST(FloatProduct, of_no_inputs_is_zero_and_of_no_rows_nothing) {
  ThreadPool pool(1);
  StoredParts layer(0);
  layer.add(WeightType::f32, 3, std::vector<float>{});
  const LinearWeights w(layer.parts(), pool);
  EXPECT_EQ(product({}, 2, w, pool), std::vector<float>(6, 0.0F));
  EXPECT_EQ(product({}, 0, w, pool), std::vector<float>{});
}

TEST(FloatProduct, takes_rows_of_any_alignment_and_writes_nothing_around_its_own) {
  constexpr float kGuard = 1234.5F;
  ThreadPool pool(2);
  StoredParts layer(19);
  layer.add(WeightType::f32, 45);
  const LinearWeights w(layer.parts(), pool);
  const auto x = random_values(3 * 19 + 1, 2);
  const auto expected = product_by_definition({x.begin() + 1, x.end()}, 3, layer);
  for_every_target([&] {
    std::vector<float> y(3 * 45 + 2, kGuard);
    ProductScratch scratch;
    multiply({x.data() + 1, 3}, w, y.data() + 1, scratch, pool);
    EXPECT_EQ(y.front(), kGuard);
    EXPECT_EQ(y.back(), kGuard);
    EXPECT_EQ(bits_of(std::vector<float>(y.begin() + 1, y.end() - 1)), bits_of(expected));
  });
}

/// The promise on which batching stands: of a row's neighbours, its place, the threads and what
/// came before in the scratch, none changes a bit.
RC_GTEST_PROP(FloatProduct, of_a_row_is_the_same_in_any_company, ()) {
  const auto type =
      *rc::gen::elementOf(std::vector(std::begin(kPlainTypes), std::end(kPlainTypes)));
  const int inputs = *rc::gen::inRange(1, 600);
  const int rows = *rc::gen::inRange(1, 40);
  const auto numerics = *rc::gen::element(Numerics::canonical, Numerics::native);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  StoredParts layer(inputs);
  layer.add(type, *rc::gen::inRange(1, 150), seed);
  const auto x = random_values(rows * inputs, seed + 1);
  ThreadPool one(1);
  const LinearWeights w(layer.parts(), one, numerics);

  std::vector<float> alone;
  for (int row = 0; row < rows; ++row) {
    const std::vector<float> input(x.begin() + row * inputs, x.begin() + (row + 1) * inputs);
    const auto y = product(input, 1, w, one);
    alone.insert(alone.end(), y.begin(), y.end());
  }
  ProductScratch scratch;
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    std::vector<float> y(alone.size());
    multiply({x.data(), rows}, w, y.data(), scratch, pool);
    RC_ASSERT(bits_of(y) == bits_of(alone));
  }
}

}  // namespace
}  // namespace forge::linear
