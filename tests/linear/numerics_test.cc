// What the two numerics promise of products, for every kind of panel on every instruction set that
// this machine has.
#include "forge/linear/numerics.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "forge/linear/product.h"
#include "linear/code_layers.h"
#include "linear/float_layers.h"
#include "numerics/test_values.h"

namespace forge::linear {
namespace {

using quant::WeightType;

/// Numbers half of which are as they come; the others are subnormal as floats, as bf16 (whose
/// smallest is 2^-133) or as f16, or zeros of both signs.
std::vector<float> values_with_subnormals(int count, std::uint64_t seed) {
  std::vector<float> values = numerics::random_values(count, seed);
  for (int i = 0; i < count; ++i) {
    float& value = values[static_cast<std::size_t>(i)];
    const int choice = numerics::random_int(0, 9, seed, static_cast<std::uint32_t>(i));
    if (choice < 3) value *= 0x1p-126F;
    if (choice == 3) value *= 0x1p-133F;
    if (choice == 4) value *= 0x1p-15F;
    if (choice == 5) value *= 0.0F;
  }
  return values;
}

/// A layer of each kind of panel, what it is called, and its kind.
struct LayerOfKind {
  std::string name;
  PanelKind kind;
  StoredLinear linear;
};

class LayersOfAllKinds {
 public:
  LayersOfAllKinds(int outputs, int inputs) : floats_(inputs) {
    std::uint64_t seed = 1;
    for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16}) {
      floats_.add(type, outputs, values_with_subnormals(outputs * inputs, seed++));
      add(std::string(name_of(type)), floats_.parts().back());
    }
    for (const Form form : kForms) {
      codes_.push_back(code_layer({.form = form, .outputs = outputs, .inputs = inputs}));
      add(name_of(form), codes_.back()->linear);
    }
  }

  const std::vector<LayerOfKind>& all() const { return all_; }

 private:
  void add(const std::string& name, const StoredLinear& linear) {
    all_.push_back({name, panel_kind(linear), linear});
  }

  StoredParts floats_;
  std::vector<std::unique_ptr<CodeLayer>> codes_;
  std::vector<LayerOfKind> all_;
};

std::vector<std::uint32_t> bits_by_definition(const std::vector<float>& x, int rows,
                                              const StoredLinear& linear) {
  std::vector<float> y(static_cast<std::size_t>(rows * linear.outputs), -1.0F);
  multiply_reference(x.data(), rows, std::span(&linear, 1), y.data());
  return numerics::bits_of(y);
}

std::vector<std::uint32_t> bits_of_product(const std::vector<float>& x, int rows,
                                           const StoredLinear& linear, Numerics numerics) {
  ThreadPool pool(2);
  const LinearWeights w(std::span(&linear, 1), pool, numerics);
  return numerics::bits_of(product(x, rows, w, pool));
}

TEST(Numerics, canonical_has_the_bits_of_the_definition_for_every_kind_on_every_target) {
  const LayersOfAllKinds layers(72, 512);
  std::set<PanelKind> kinds;
  for (const LayerOfKind& layer : layers.all()) {
    kinds.insert(layer.kind);
    for (const int rows : {1, 2, 5, 13}) {
      const auto x = values_with_subnormals(rows * layer.linear.inputs, 7);
      const auto expected = bits_by_definition(x, rows, layer.linear);
      numerics::for_every_target([&] {
        EXPECT_TRUE(has_defined_bits(layer.kind, Numerics::canonical));
        ASSERT_EQ(bits_of_product(x, rows, layer.linear, Numerics::canonical), expected)
            << layer.name << ", rows=" << rows;
      });
    }
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(PanelKind::q3_k) + 1) << "a kind has no layer";
}

/// Every float of bf16 against every other exponent: none of the conversions drops a subnormal.
TEST(Numerics, canonical_products_of_bf16_keep_every_subnormal) {
  constexpr int kInputs = 2;
  std::vector<float> weights;
  for (std::uint32_t fraction = 1; fraction < 0x80; ++fraction) {
    weights.push_back(numerics::float_of(fraction << 16));                // subnormal, even k
    weights.push_back(numerics::float_of(0x80000000U | fraction << 16));  // and odd k
  }
  const int outputs = static_cast<int>(weights.size()) / kInputs;
  StoredParts layer(kInputs);
  layer.add(WeightType::bf16, outputs, weights);
  const std::vector<float> x = {1.0F, 0.0F, 0.0F, 1.0F, 3.0F, 1.0F, 0x1p-3F, 0x1p-130F};
  const int rows = static_cast<int>(x.size()) / kInputs;
  const auto expected = bits_by_definition(x, rows, layer.parts()[0]);
  EXPECT_EQ(expected[0], 0x00010000U) << "the first weight, times 1";
  numerics::for_every_target([&] {
    EXPECT_EQ(bits_of_product(x, rows, layer.parts()[0], Numerics::canonical), expected);
  });
}

TEST(Numerics, native_has_the_bits_of_the_definition_where_it_says_so) {
  const LayersOfAllKinds layers(40, 256);
  for (const LayerOfKind& layer : layers.all()) {
    const auto x = values_with_subnormals(3 * layer.linear.inputs, 7);
    const auto expected = bits_by_definition(x, 3, layer.linear);
    numerics::for_every_target([&] {
      if (!has_defined_bits(layer.kind, Numerics::native)) {
        EXPECT_EQ(layer.kind, PanelKind::bf16);
        return;
      }
      EXPECT_EQ(bits_of_product(x, 3, layer.linear, Numerics::native), expected) << layer.name;
    });
  }
}

/// The difference in one number: of 1 times the largest subnormal bf16.
TEST(Numerics, native_products_of_pairs_take_subnormals_for_zeros) {
  if (has_defined_bits(PanelKind::bf16, Numerics::native)) {
    GTEST_SKIP() << "no instruction for pairs of bf16 here";
  }
  const std::vector<float> subnormal = {numerics::float_of(0x007f0000)};
  StoredParts layer(1);
  layer.add(WeightType::bf16, 1, subnormal);
  EXPECT_EQ(bits_of_product({1.0F}, 1, layer.parts()[0], Numerics::native)[0], 0U);
  EXPECT_EQ(bits_of_product({1.0F}, 1, layer.parts()[0], Numerics::canonical)[0], 0x007f0000U);
}

TEST(Numerics, name_the_instructions_with_which_bits_can_differ) {
  EXPECT_EQ(forge::name_of(Numerics::canonical), "canonical");
  EXPECT_EQ(forge::name_of(Numerics::native), "native");
  numerics::for_every_target([] {
    EXPECT_NE(instructions_used(Numerics::canonical), "AVX-512 BF16");
    EXPECT_EQ(instructions_used(Numerics::native) == "AVX-512 BF16",
              !has_defined_bits(PanelKind::bf16, Numerics::native));
    EXPECT_EQ(instructions_used(PanelKind::f32, Numerics::native),
              instructions_used(PanelKind::f32, Numerics::canonical));
  });
}

}  // namespace
}  // namespace forge::linear
