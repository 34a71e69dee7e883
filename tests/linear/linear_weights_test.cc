#include "forge/linear/linear_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "forge/numerics/tensor_product.h"
#include "linear/code_layers.h"
#include "linear/float_layers.h"

namespace forge::linear {
namespace {

using quant::WeightType;

template <class Number>
Number number_at(const Section& section, int panel, int index) {
  Number number;
  std::memcpy(&number,
              section.panels + static_cast<std::size_t>(panel) * section.panel_bytes +
                  sizeof number * static_cast<std::size_t>(index),
              sizeof number);
  return number;
}

TEST(LinearWeights, packs_f32_in_zero_padded_aligned_panels) {
  const auto values = numerics::random_values(33 * 5, 1);
  StoredParts layer(5);
  layer.add(WeightType::f32, 33, values);
  ThreadPool pool(2);
  const LinearWeights w(layer.parts(), pool);
  EXPECT_EQ(w.outputs(), 33);
  EXPECT_EQ(w.inputs(), 5);
  ASSERT_EQ(w.sections().size(), 1U);
  const Section& section = w.sections()[0];
  ASSERT_EQ(section.panel_count(), 2);
  EXPECT_EQ(section.panel_bytes, 5U * 32 * 4);
  EXPECT_EQ(w.bytes(), 2U * 5 * 32 * 4);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(section.panels) % 64, 0U);
  for (int output = 0; output < 64; ++output) {
    for (int k = 0; k < 5; ++k) {
      const float expected = output < 33 ? values[static_cast<std::size_t>(output * 5 + k)] : 0.0F;
      EXPECT_EQ(number_at<float>(section, output / 32, k * 32 + output % 32), expected);
    }
  }
}

TEST(LinearWeights, packs_bf16_in_pairs_of_inputs) {
  const auto values = numerics::random_values(2 * 3, 1);
  StoredParts layer(3);
  layer.add(WeightType::bf16, 2, values);
  ThreadPool pool(1);
  const LinearWeights w(layer.parts(), pool);
  const Section& section = w.sections()[0];
  EXPECT_EQ(section.panel_bytes, 2U * 32 * 4);  // the last pair is half empty
  for (int output = 0; output < 2; ++output) {
    for (int k = 0; k < 4; ++k) {
      const std::uint16_t expected =
          k < 3 ? numerics::to_bf16(values[static_cast<std::size_t>(output * 3 + k)]).bits : 0;
      EXPECT_EQ(number_at<std::uint16_t>(section, 0, (k / 2 * 32 + output) * 2 + k % 2), expected);
    }
  }
}

/// Parts on top of one another, then zeros up to a whole panel.
TEST(LinearWeights, rows_lie_as_they_are_stored_where_that_is_asked_for) {
  for (const WeightType type : {WeightType::f16, WeightType::bf16}) {
    StoredParts layer(6);
    layer.add(type, 3).add(type, 30).add(WeightType::f32, 2);
    ThreadPool pool(2);
    const PackOptions options{.rows = numerics::HalfType::bf16};
    const LinearWeights w = LinearWeights::load(layer.parts(), pool, options).value();
    ASSERT_EQ(w.sections().size(), 2U);
    EXPECT_EQ(w.sections()[1].kind, PanelKind::f32);
    const Section& section = w.sections()[0];
    EXPECT_EQ(section.kind, type == WeightType::f16 ? PanelKind::f16_rows : PanelKind::bf16_rows);
    EXPECT_EQ(section.outputs, 33);
    EXPECT_EQ(section.panel_bytes, 32U * 6 * 2);
    EXPECT_EQ(LinearWeights::layout(layer.parts(), options).bytes(), w.bytes());
    std::vector<std::byte> expected;
    for (const StoredLinear& part : std::span(layer.parts()).first(2)) {
      const std::byte* const rows = std::get<StoredRows>(part.form).rows;
      expected.insert(expected.end(), rows, rows + std::ptrdiff_t{part.outputs} * 6 * 2);
    }
    expected.resize(2 * section.panel_bytes);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), section.panels));
  }
}

/// w is rows of `type`, each number of which is rounded once.
void expect_rounded(const LinearWeights& w, std::span<const StoredLinear> parts,
                    numerics::HalfType type) {
  const bool is_f16 = type == numerics::HalfType::f16;
  ASSERT_EQ(w.sections().size(), 1U);
  const Section& section = w.sections()[0];
  EXPECT_EQ(section.kind, is_f16 ? PanelKind::f16_rows : PanelKind::bf16_rows);
  std::vector<float> row(static_cast<std::size_t>(w.inputs()));
  int lane = 0;
  for (const StoredLinear& part : parts) {
    for (int output = 0; output < part.outputs; ++output, ++lane) {
      stored_row(part, output, row.data());
      for (int k = 0; k < w.inputs(); ++k) {
        const float x = row[static_cast<std::size_t>(k)];
        const std::uint16_t bits = is_f16 ? numerics::half_of<numerics::F16>(x).bits
                                          : numerics::half_of<numerics::BF16>(x).bits;
        ASSERT_EQ(number_at<std::uint16_t>(section, lane / 32, lane % 32 * w.inputs() + k), bits)
            << lane << ' ' << k;
      }
    }
  }
}

TEST(LinearWeights, floats_of_8_bits_become_rows_beside_those_of_16) {
  const std::vector<std::uint8_t> codes = [] {
    std::vector<std::uint8_t> bytes;
    for (int i = 0; i < 40 * 24; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 37 % 126));
    return bytes;
  }();
  const std::vector<float> scales{0.3F, 0.7F, 1.1F, 0.9F};
  StoredParts halves(24);
  for (const auto type : {numerics::HalfType::f16, numerics::HalfType::bf16}) {
    halves.add(type == numerics::HalfType::f16 ? WeightType::f16 : WeightType::bf16, 5);
    const StoredLinear parts[] = {
        {40, 24, StoredFloat8{std::as_bytes(std::span(codes)).data(), scales, 20, 12}},
        halves.parts().back()};
    ThreadPool pool(2);
    const PackOptions options{.rows = type};
    expect_rounded(LinearWeights::load(parts, pool, options).value(), parts, type);
    EXPECT_EQ(LinearWeights::layout(parts, options).sections().size(), 1U);
  }
}

/// Routers, whatever they are stored as; otherwise codes stay codes, and floats floats.
TEST(LinearWeights, all_become_rows_where_that_is_asked_for) {
  ThreadPool pool(2);
  for (const Form form : {Form::q8_0, Form::q4_k, Form::gptq_act_order}) {
    const auto codes = code_layer({.form = form, .outputs = 40, .inputs = 256});
    const std::span<const StoredLinear> parts(&codes->linear, 1);
    for (const auto type : {numerics::HalfType::f16, numerics::HalfType::bf16}) {
      const PackOptions widened{.rows = type, .widen = true};
      expect_rounded(LinearWeights::load(parts, pool, widened).value(), parts, type);
      const LinearWeights kept = LinearWeights::layout(parts, {.rows = type});
      EXPECT_TRUE(has_codes(kept.sections()[0].kind));
    }
  }
  StoredParts floats(24);
  floats.add(WeightType::f32, 40);
  const PackOptions widened{.rows = numerics::HalfType::bf16, .widen = true};
  expect_rounded(LinearWeights::load(floats.parts(), pool, widened).value(), floats.parts(),
                 numerics::HalfType::bf16);
  StoredParts other(24);
  other.add(WeightType::f16, 40);
  EXPECT_EQ(LinearWeights::layout(other.parts(), widened).sections()[0].kind, PanelKind::f16_rows);
}

TEST(LinearWeights, a_number_beyond_f16_is_not_finite_in_it) {
  ThreadPool pool(1);
  for (const float number : {65519.0F, 65520.0F, -1e30F}) {
    StoredParts layer(3);
    layer.add(WeightType::f32, 1, {1, number, 2});
    const bool fits = number == 65519.0F;
    const auto packed = [&](numerics::HalfType type) {
      return LinearWeights::load(layer.parts(), pool, {.rows = type, .widen = true})->is_finite();
    };
    EXPECT_EQ(packed(numerics::HalfType::f16), fits) << number;
    EXPECT_TRUE(packed(numerics::HalfType::bf16)) << number;
  }
}

TEST(LinearWeights, parts_of_a_kind_that_follow_each_other_share_a_section) {
  StoredParts layer(8);
  layer.add(WeightType::f32, 3).add(WeightType::f32, 40).add(WeightType::bf16, 5);
  layer.add(WeightType::f32, 1);
  ThreadPool pool(2);
  const LinearWeights w(layer.parts(), pool);
  EXPECT_EQ(w.outputs(), 49);
  ASSERT_EQ(w.sections().size(), 3U);
  EXPECT_EQ(w.sections()[0].kind, PanelKind::f32);
  EXPECT_EQ(w.sections()[0].outputs, 43);
  EXPECT_EQ(w.sections()[1].kind, PanelKind::bf16);
  EXPECT_EQ(w.sections()[1].first_output, 43);
  EXPECT_EQ(w.sections()[1].outputs, 5);
  EXPECT_EQ(w.sections()[2].first_output, 48);
}

TEST(LinearWeights, parts_share_a_section_if_their_codes_have_one_table) {
  const std::vector<std::byte> memory(4096);
  const auto part = [&](WeightType type) {
    return StoredLinear{3, 256, StoredRows{type, memory.data()}};
  };
  const StoredLinear parts[] = {part(WeightType::iq4_nl), part(WeightType::iq4_xs),
                                part(WeightType::mxfp4), part(WeightType::iq4_nl)};
  ThreadPool pool(1);
  const LinearWeights w(parts, pool);
  ASSERT_EQ(w.sections().size(), 3U);
  EXPECT_EQ(w.sections()[0].outputs, 6);
  for (const Section& section : w.sections()) EXPECT_EQ(section.kind, PanelKind::table4);
  EXPECT_EQ(w.bytes(), 3U * (64 + 8 * 32 * 20));
  EXPECT_EQ(LinearWeights::layout(parts).bytes(), w.bytes());
}

TEST(LinearWeights, moves_with_its_panels_and_orders_in_place) {
  StoredParts layer(8);
  layer.add(WeightType::f32, 3);
  ThreadPool pool(1);
  LinearWeights w(layer.parts(), pool);
  const std::byte* const panels = w.sections()[0].panels;
  const LinearWeights moved = std::move(w);
  EXPECT_EQ(moved.sections()[0].panels, panels);
  EXPECT_EQ(moved.outputs(), 3);
}

/// An int4 layer of GPTQ with 8 outputs, 64 inputs, groups of 32 and the given group of each input.
StoredLinear act_ordered(std::span<const std::byte> memory, std::span<const std::int32_t> order) {
  return {8, 64,
          StoredGroups{StoredGroups::Packing::gptq, 32, memory.data(), memory.data(), memory.data(),
                       order}};
}

TEST(LinearWeights, sorts_inputs_by_group_where_act_order_mixed_them) {
  const std::vector<std::byte> memory(4096);
  std::vector<std::int32_t> alternating;
  std::vector<std::int32_t> ascending;
  for (int k = 0; k < 64; ++k) {
    alternating.push_back(k % 2);
    ascending.push_back(k / 32);
  }
  const StoredLinear parts[] = {act_ordered(memory, alternating), act_ordered(memory, alternating),
                                act_ordered(memory, ascending), act_ordered(memory, {})};
  ThreadPool pool(1);
  const LinearWeights w(parts, pool);
  ASSERT_EQ(w.sections().size(), 2U);  // those whose inputs are in the same order
  EXPECT_EQ(w.sections()[0].outputs, 16);
  ASSERT_EQ(w.sections()[0].order.size(), 64U);
  for (int k = 0; k < 64; ++k) {
    EXPECT_EQ(w.sections()[0].order[static_cast<std::size_t>(k)],
              k < 32 ? 2 * k : 2 * (k - 32) + 1);
  }
  EXPECT_TRUE(w.sections()[1].order.empty());
}

TEST(LinearWeightsDeathTest, parts_read_the_same_input) {
  const std::vector<std::byte> memory(256);
  const StoredLinear parts[] = {{1, 8, StoredRows{WeightType::f32, memory.data()}},
                                {1, 9, StoredRows{WeightType::f32, memory.data()}}};
  ThreadPool pool(1);
  EXPECT_DEATH(LinearWeights(parts, pool), "inputs=9 beside inputs=8");
}

TEST(LinearWeights, knows_whether_every_float_is_finite) {
  const PackOptions of_rows{.rows = numerics::HalfType::bf16};
  ThreadPool pool(2);
  for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16}) {
    for (const int inputs : {1, 5, 64, 70}) {
      for (const float bad : {NAN, INFINITY, -INFINITY}) {
        for (int index = 0; index < 33 * inputs; index += 31) {
          auto values = numerics::random_values(33 * inputs, 1);
          values[static_cast<std::size_t>(index)] = bad;
          StoredParts layer(inputs);
          layer.add(type, 33, values);
          EXPECT_FALSE(LinearWeights(layer.parts(), pool).is_finite()) << index;
          EXPECT_FALSE(LinearWeights::load(layer.parts(), pool, of_rows)->is_finite());
          values[static_cast<std::size_t>(index)] = 1;
          StoredParts whole(inputs);
          whole.add(type, 33, values);
          EXPECT_TRUE(LinearWeights(whole.parts(), pool).is_finite()) << index;
          EXPECT_TRUE(LinearWeights::load(whole.parts(), pool, of_rows)->is_finite());
        }
      }
    }
  }
}

}  // namespace
}  // namespace forge::linear
