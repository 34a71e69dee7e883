#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "code_kernels.h"
#include "code_rows.h"
#include "code_source.h"
#include "forge/core/digest.h"
#include "forge/linear/linear_weights.h"
#include "forge/linear/product.h"
#include "forge/linear/stored_linear.h"
#include "linear/code_layers.h"
#include "numerics/test_values.h"

namespace forge::linear {
namespace {

using codes::ByteProducts;

constexpr ByteProducts kByteProducts[] = {ByteProducts::fastest, ByteProducts::widening};

/// The same bits; any NaN is as good as another.
bool same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) { return same(x, y); });
}

/// A layer packed, and products with it by the kernels alone, one call for all panels or several.
class Packed {
 public:
  explicit Packed(const StoredLinear& stored) : pool_(1), weights_({&stored, 1}, pool_) {}

  std::vector<float> product(const std::vector<float>& x, int rows,
                             ByteProducts products = ByteProducts::fastest,
                             int panels_a_call = 1000) const {
    ProductScratch scratch;
    const Section& section = weights_.sections().front();
    const Activations activations{x.data(), rows, weights_.inputs(), section.order};
    codes::prepare(activations, scratch);
    codes::convert(activations, 0, rows / 2, scratch);
    codes::convert(activations, rows / 2, rows, scratch);
    const Converted converted{.groups = scratch.groups.data()};
    std::vector<float> y(static_cast<std::size_t>(rows * weights_.outputs()), -1.0F);
    for (int panel = 0; panel < section.panel_count(); panel += panels_a_call) {
      codes::multiply({.section = &section,
                       .inputs = weights_.inputs(),
                       .first_panel = panel,
                       .end_panel = std::min(panel + panels_a_call, section.panel_count()),
                       .rows = rows,
                       .converted = &converted,
                       .y = y.data(),
                       .y_stride = weights_.outputs()},
                      products);
    }
    return y;
  }

 private:
  ThreadPool pool_;
  LinearWeights weights_;
};

std::vector<float> product_by_definition(const std::vector<float>& x, int rows,
                                         const StoredLinear& stored) {
  std::vector<float> y(static_cast<std::size_t>(rows * stored.outputs), -1.0F);
  codes::multiply_reference(x.data(), rows, stored, y.data(), stored.outputs);
  return y;
}

/// A layer of random form and shape.
LayerSpec any_layer() {
  LayerSpec spec;
  spec.form = *rc::gen::elementOf(kForms);
  spec.outputs = 8 * *rc::gen::inRange(1, 20);  // up to five panels
  spec.inputs = 256 * *rc::gen::inRange(1, 4);
  spec.group_size = *rc::gen::element(32, 64, 128, 256);
  spec.seed = *rc::gen::arbitrary<std::uint32_t>();
  if (spec.form <= kLastOfBlocks || spec.form == Form::int8) {
    spec.outputs -= *rc::gen::inRange(0, 8);  // not a multiple of anything
  }
  if (spec.form <= kLastOfShortBlocks) {
    spec.inputs -= 32 * *rc::gen::inRange(0, 8);
  }
  if (spec.form == Form::int8) spec.inputs -= *rc::gen::inRange(0, 256);
  return spec;
}

/// How far y may be from the exact product: each x is off by half a step of its group, or by 2^-24
/// of its size more as x / dx is rounded; each of the 2 operations a group, and each rounding of a
/// weight, by 2^-24 of all that was added up in absolute value.
double error_bound(const StoredLinear& stored, int output, const float* x, const float* w) {
  const auto order = codes::packed_order(stored);
  const int groups = codes::group_count(stored.inputs);
  double steps = 0;
  double magnitudes = 0;
  for (int g = 0; g < groups; ++g) {
    const codes::SourceGroup source = codes::read_group(stored, order, output, g);
    double largest = 0;
    double weights = 0;
    double sizes = 0;
    for (int i = 0; i < codes::kGroup && g * codes::kGroup + i < stored.inputs; ++i) {
      const auto k = static_cast<std::size_t>(g * codes::kGroup + i);
      const std::size_t input = order.empty() ? k : static_cast<std::size_t>(order[k]);
      largest = std::max(largest, std::fabs(static_cast<double>(x[input])));
      weights += std::fabs(static_cast<double>(w[input]));
      sizes += std::fabs(static_cast<double>(source.step()) * source.half_scales[i / 16] *
                         source.number(i)) +
               std::fabs(static_cast<double>(source.offset_below()) * source.half_mins[i / 16]);
    }
    steps += weights * largest / 127;
    magnitudes += sizes * largest;
  }
  return steps * (0.5 + 0x1p-16) + (2 * groups + 8) * 0x1p-24 * magnitudes;
}

RC_GTEST_PROP(CodeProduct, is_near_the_product_with_the_weights_as_floats, ()) {
  const LayerSpec spec = any_layer();
  const auto layer = code_layer(spec);
  const auto x = numerics::random_values(spec.inputs, spec.seed);
  const auto y = product_by_definition(x, 1, layer->linear);
  std::vector<float> w(x.size());
  for (int n = 0; n < spec.outputs; ++n) {
    stored_row(layer->linear, n, w.data());
    double exact = 0;
    for (std::size_t k = 0; k < x.size(); ++k) exact += static_cast<double>(w[k]) * x[k];
    const double error = std::fabs(static_cast<double>(y[static_cast<std::size_t>(n)]) - exact);
    RC_ASSERT(error <= error_bound(layer->linear, n, x.data(), w.data()));
  }
}

RC_GTEST_PROP(CodeProduct, has_the_bits_of_its_definition_on_every_target, ()) {
  const LayerSpec spec = any_layer();
  const int rows = *rc::gen::oneOf(rc::gen::inRange(1, 10), rc::gen::inRange(60, 70));
  RC_TAG(name_of(spec.form));
  const auto layer = code_layer(spec);
  const Packed packed(layer->linear);
  const auto x = numerics::random_values(rows * spec.inputs, spec.seed);
  const auto expected = product_by_definition(x, rows, layer->linear);
  numerics::for_every_target([&] {
    for (const ByteProducts products : kByteProducts) {
      RC_ASSERT(same(packed.product(x, rows, products), expected));
    }
  });
}

TEST(CodeProduct, has_the_bits_of_its_definition_for_extreme_blocks) {
  const auto alternating = [](int k) { return k % 2 == 0 ? 1.0F : -1.0F; };
  constexpr float kLargest = 3e38F;
  for (const Form form : kForms) {
    for (const int byte : {0x00, 0x7f, 0x80, 0xff}) {
      for (const int scale : {0x0000, 0x8000, 0x0001, 0x3c00, 0x7bff, 0xfbff}) {
        SCOPED_TRACE(testing::Message() << name_of(form) << " of " << byte << ", " << scale);
        const auto layer = code_layer({.form = form, .code_byte = byte, .scale_bits = scale});
        const Packed packed(layer->linear);
        std::vector<float> x;
        for (int k = 0; k < 256; ++k) x.push_back(1.0F);
        for (int k = 0; k < 256; ++k) x.push_back(-1.0F);
        for (int k = 0; k < 256; ++k) x.push_back(alternating(k) * kLargest);
        for (int k = 0; k < 256; ++k) x.push_back(alternating(k) * 1e-42F);
        for (int k = 0; k < 256; ++k) x.push_back(0.0F);
        const auto expected = product_by_definition(x, 5, layer->linear);
        numerics::for_every_target([&] {
          for (const ByteProducts products : kByteProducts) {
            EXPECT_TRUE(same(packed.product(x, 5, products), expected));
          }
        });
      }
    }
  }
}

TEST(CodeProduct, has_the_same_bits_on_every_processor) {
  const auto x = numerics::random_values(3 * 256, 7);
  Digest digest;
  for (const Form form : kForms) {
    const auto layer = code_layer({.form = form, .outputs = 40});
    if (form == Form::q4_1) {
      EXPECT_EQ(digest.value(), 0xf0753de504949f14u);
    }
    if (form == Form::gptq_v2) {
      EXPECT_EQ(digest.value(), 0x96d35c2c611a10ceu);
    }
    for (const float y : Packed(layer->linear).product(x, 3)) digest.add(numerics::bits_of(y));
  }
  EXPECT_EQ(digest.value(), 0x02f97264342d4defu);
}

RC_GTEST_PROP(CodeProduct, a_row_has_the_same_bits_alone_and_anywhere_in_a_batch, ()) {
  const LayerSpec spec = any_layer();
  const auto layer = code_layer(spec);
  const Packed packed(layer->linear);
  const int rows = *rc::gen::inRange(2, 140);
  const auto x = numerics::random_values(rows * spec.inputs, spec.seed);
  const auto batch = packed.product(x, rows);
  for (const int row : {0, rows / 2, rows - 1}) {
    const auto begin = x.begin() + row * spec.inputs;
    const auto alone = packed.product({begin, begin + spec.inputs}, 1);
    const auto there = batch.begin() + row * spec.outputs;
    RC_ASSERT(same(alone, {there, there + spec.outputs}));
  }
}

RC_GTEST_PROP(CodeProduct, does_not_depend_on_how_panels_are_shared_out, ()) {
  LayerSpec spec = any_layer();
  spec.outputs += 64;
  const auto layer = code_layer(spec);
  const Packed packed(layer->linear);
  for (const int rows : {1, 2, 3, 4, 5}) {
    const auto x = numerics::random_values(rows * spec.inputs, spec.seed);
    const auto together = packed.product(x, rows);
    for (const int panels : {1, 2, 3}) {
      RC_ASSERT(same(packed.product(x, rows, ByteProducts::fastest, panels), together));
    }
  }
}

TEST(CodeProduct, act_order_is_the_layer_whose_inputs_are_sorted) {
  const auto shuffled = code_layer({.form = Form::gptq_act_order, .outputs = 40, .group_size = 32});
  const auto order = codes::packed_order(shuffled->linear);
  ASSERT_EQ(order.size(), 256u);
  EXPECT_FALSE(std::ranges::is_sorted(order));

  // Codes of GPTQ: 8 inputs to a word, [K/8][N].
  const auto nibble = [&](quant::Bytes& codes, int k, int n) {
    return std::pair(&codes[static_cast<std::size_t>(4 * (k / 8 * 40 + n) + k % 8 / 2)], k % 2 * 4);
  };
  const auto sorted = code_layer({.form = Form::gptq, .outputs = 40, .group_size = 32});
  sorted->zeros = shuffled->zeros;
  sorted->scales = shuffled->scales;
  std::ranges::fill(sorted->codes, std::byte{0});
  auto& form = std::get<StoredGroups>(sorted->linear.form);
  form.zeros = sorted->zeros.data();
  form.scales = sorted->scales.data();
  const auto x = numerics::random_values(256, 3);
  std::vector<float> x_sorted;
  for (int k = 0; k < 256; ++k) {
    const int input = order[static_cast<std::size_t>(k)];
    x_sorted.push_back(x[static_cast<std::size_t>(input)]);
    for (int n = 0; n < 40; ++n) {
      const auto [from, from_bit] = nibble(shuffled->codes, input, n);
      const auto [to, to_bit] = nibble(sorted->codes, k, n);
      *to |= (*from >> from_bit & std::byte{15}) << to_bit;
    }
  }
  EXPECT_TRUE(
      same(Packed(shuffled->linear).product(x, 1), Packed(sorted->linear).product(x_sorted, 1)));
}

/// One group of 32 inputs and 8 outputs, all scales 1; x = 127, so that codes of x are x.
std::vector<float> sums_of_weights(StoredGroups::Packing packing, std::uint32_t code_word,
                                   std::uint32_t zero_word) {
  const std::vector<std::uint32_t> words(32, code_word);
  const std::vector<std::uint16_t> scales(8, 0x3c00);
  const StoredLinear linear = {
      .outputs = 8,
      .inputs = 32,
      .form = StoredGroups{.packing = packing,
                           .group_size = 32,
                           .codes = reinterpret_cast<const std::byte*>(words.data()),
                           .zeros = reinterpret_cast<const std::byte*>(&zero_word),
                           .scales = reinterpret_cast<const std::byte*>(scales.data())}};
  auto y = Packed(linear).product(std::vector<float>(32, 127.0F), 1);
  for (float& number : y) number /= 127.0F * 32.0F;
  return y;
}

TEST(CodeProduct, awq_takes_outputs_in_the_order_0_2_4_6_1_3_5_7) {
  // From the lowest nibble up: the codes of outputs 0 2 4 6 1 3 5 7, each its output's number.
  constexpr std::uint32_t kCodes = 0x75316420;
  EXPECT_EQ(sums_of_weights(StoredGroups::Packing::awq, kCodes, 0),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(sums_of_weights(StoredGroups::Packing::awq, 0xffffffff, kCodes),
            (std::vector<float>{15, 14, 13, 12, 11, 10, 9, 8}));
}

TEST(CodeProduct, gptq_stores_zero_points_less_one) {
  EXPECT_EQ(sums_of_weights(StoredGroups::Packing::gptq, 0x88888888, 0x76543210),
            (std::vector<float>{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(CodeProduct, gptq_v2_stores_zero_points_as_they_are) {
  EXPECT_EQ(sums_of_weights(StoredGroups::Packing::gptq_v2, 0x88888888, 0x76543210),
            (std::vector<float>{8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(CodeProduct, gptq_takes_one_from_a_zero_point_of_0_by_borrowing_from_the_next) {
  EXPECT_EQ(sums_of_weights(StoredGroups::Packing::gptq, 0x99999999, 0x00000000U - 0x11111111U),
            std::vector<float>(8, 9));
  EXPECT_EQ(sums_of_weights(StoredGroups::Packing::gptq, 0x99999999, 0xf0f0f0f0U - 0x11111111U),
            (std::vector<float>{9, -6, 9, -6, 9, -6, 9, -6}));
}

}  // namespace
}  // namespace forge::linear
