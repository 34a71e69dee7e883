#include "forge/linear/stored_linear.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "forge/linear/linear_weights.h"
#include "forge/linear/product.h"
#include "forge/numerics/half.h"
#include "forge/numerics/philox.h"
#include "forge/quant/dequantize.h"
#include "forge/quant/quantize.h"
#include "linear/float_layers.h"
#include "numerics/test_values.h"

namespace forge::linear {
namespace {

std::vector<float> row_of(const StoredLinear& linear, int output) {
  std::vector<float> row(static_cast<std::size_t>(linear.inputs));
  stored_row(linear, output, row.data());
  return row;
}

TEST(StoredLinear, rows_are_those_of_the_tensor_in_every_type) {
  const int inputs = 512;
  for (const quant::WeightType type : quant::kWeightTypes) {
    if (type == quant::WeightType::i8) continue;
    const std::size_t row_bytes = *quant::bytes_of(type, inputs);
    std::vector<std::byte> bytes(3 * row_bytes);
    for (std::uint64_t output = 0; output < 3; ++output) {
      (void)quantize(type, numerics::random_values(inputs, output),
                     bytes.data() + output * row_bytes);
    }
    const StoredLinear linear{3, inputs, StoredRows{type, bytes.data()}};
    for (std::size_t output = 0; output < 3; ++output) {
      std::vector<float> expected(inputs);
      quant::dequantize(type, bytes.data() + output * row_bytes, inputs, expected.data());
      EXPECT_EQ(row_of(linear, static_cast<int>(output)), expected) << name_of(type);
    }
  }
}

TEST(StoredLinear, int8_has_a_scale_for_each_output) {
  const std::array<std::int8_t, 6> codes = {-128, 0, 127, 1, 2, 3};
  const std::array<float, 2> scales = {0.5F, 2.0F};
  const StoredLinear linear{2, 3,
                            StoredInt8{reinterpret_cast<const std::byte*>(codes.data()), scales}};
  EXPECT_EQ(row_of(linear, 0), (std::vector<float>{-64.0F, 0.0F, 63.5F}));
  EXPECT_EQ(row_of(linear, 1), (std::vector<float>{2.0F, 4.0F, 6.0F}));
}

/// A layer of 16 outputs, 32 inputs and groups of 8, written down as tables.
struct GroupTables {
  static constexpr int kOutputs = 16;
  static constexpr int kInputs = 32;
  static constexpr int kGroup = 8;
  static constexpr int kGroups = kInputs / kGroup;
  int code[kOutputs][kInputs];
  int zero[kOutputs][kGroups];     // 0 .. 15, what both formats can say
  float scale[kOutputs][kGroups];  // exact in f16

  GroupTables() {
    std::uint32_t i = 0;
    const auto random = [&] { return numerics::philox({{i++, 0, 0, 0}}, 7).x[0]; };
    for (auto& row : code) {
      for (int& c : row) c = static_cast<int>(random() % 16);
    }
    for (auto& row : zero) {
      for (int& z : row) z = static_cast<int>(random() % 16);
    }
    for (auto& row : scale) {
      for (float& s : row) s = static_cast<float>(1 + random() % 64) / 64.0F;
    }
  }

  std::vector<numerics::F16> scales() const {
    std::vector<numerics::F16> stored_scales;
    for (int g = 0; g < kGroups; ++g) {
      for (const auto& row : scale) stored_scales.push_back(numerics::to_f16(row[g]));
    }
    return stored_scales;
  }

  /// Row `output`, whose input k is of group group_of(k).
  template <class GroupOf>
  std::vector<float> row(int output, const GroupOf& group_of) const {
    std::vector<float> row;
    for (int k = 0; k < kInputs; ++k) {
      const int g = group_of(k);
      row.push_back(scale[output][g] * static_cast<float>(code[output][k] - zero[output][g]));
    }
    return row;
  }
};

void put(std::vector<std::uint32_t>& words, int word, int nibble, int value) {
  words[static_cast<std::size_t>(word)] |= static_cast<std::uint32_t>(value) << 4 * nibble;
}

template <class T>
const std::byte* bytes_of(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

class Gptq : public ::testing::Test {
 protected:
  using T = GroupTables;

  Gptq() : codes(T::kInputs / 8 * T::kOutputs), zeros(T::kGroups * T::kOutputs / 8) {
    for (int n = 0; n < T::kOutputs; ++n) {
      for (int k = 0; k < T::kInputs; ++k) put(codes, k / 8 * T::kOutputs + n, k % 8, t.code[n][k]);
      for (int g = 0; g < T::kGroups; ++g) {
        put(zeros, g * T::kOutputs / 8 + n / 8, n % 8, t.zero[n][g]);
      }
    }
    for (std::uint32_t& word : zeros) word -= 0x11111111;  // with borrows, where one is 0
  }

  StoredLinear linear(std::span<const std::int32_t> order) const {
    return {T::kOutputs, T::kInputs,
            StoredGroups{StoredGroups::Packing::gptq, T::kGroup, bytes_of(codes), bytes_of(zeros),
                         bytes_of(scales), order}};
  }

  GroupTables t;
  std::vector<std::uint32_t> codes;
  std::vector<std::uint32_t> zeros;
  std::vector<numerics::F16> scales = t.scales();
};

TEST_F(Gptq, packs_codes_down_a_column_and_holds_zeros_less_one_in_4_bits) {
  for (int n = 0; n < T::kOutputs; ++n) {
    EXPECT_EQ(row_of(linear({}), n), t.row(n, [](int k) { return k / T::kGroup; }));
  }
}

TEST_F(Gptq, with_act_order_says_the_group_of_each_input) {
  std::vector<std::int32_t> order;
  for (int k = 0; k < T::kInputs; ++k) order.push_back(k * 5 % T::kInputs / T::kGroup);
  for (int n = 0; n < T::kOutputs; ++n) {
    EXPECT_EQ(row_of(linear(order), n),
              t.row(n, [&](int k) { return order[static_cast<std::size_t>(k)]; }));
  }
}

TEST_F(Gptq, of_the_second_format_holds_zeros_as_they_are) {
  StoredLinear v2 = linear({});
  auto& form = std::get<StoredGroups>(v2.form);
  form.packing = StoredGroups::Packing::gptq_v2;
  for (std::uint32_t& word : zeros) word += 0x11111111;
  for (int n = 0; n < T::kOutputs; ++n) {
    EXPECT_EQ(row_of(v2, n), t.row(n, [](int k) { return k / T::kGroup; }));
  }
}

/// Bytes of GPTQ, four to a word: inputs of an output, or outputs that share a group.
TEST(Gptq8, packs_codes_of_bytes_with_zero_points_less_one) {
  // 4 outputs, 8 inputs, one group: codes [2][4] words, zeros [1][1].
  std::vector<std::uint32_t> codes(8);
  for (int n = 0; n < 4; ++n) {
    for (int k = 0; k < 8; ++k) {
      codes[static_cast<std::size_t>(k / 4 * 4 + n)] |= static_cast<std::uint32_t>(40 * n + k)
                                                        << (8 * (k % 4));
    }
  }
  const std::vector<std::uint32_t> zeros = {0xff'7f'01'00U};  // zero points 1, 2, 128 and 0
  const std::vector<numerics::F16> scales = {{0x3c00}, {0x3c00}, {0x3800}, {0x4000}};
  StoredGroups form{.group_size = 8,
                    .codes = bytes_of(codes),
                    .zeros = bytes_of(zeros),
                    .scales = bytes_of(scales),
                    .order = {},
                    .bits = 8};
  const int zero_of[] = {1, 2, 128, 0};
  const float scale_of[] = {1, 1, 0.5F, 2};
  for (int n = 0; n < 4; ++n) {
    const std::vector<float> row = row_of({4, 8, form}, n);
    for (int k = 0; k < 8; ++k) {
      EXPECT_EQ(row[static_cast<std::size_t>(k)],
                scale_of[n] * static_cast<float>(40 * n + k - zero_of[n]));
    }
  }
  EXPECT_EQ(panel_kind({4, 8, form}), PanelKind::f32);
  form.zeros = nullptr;
  EXPECT_EQ(row_of({4, 8, form}, 0)[3], 3.0F - 128);
  EXPECT_EQ(panel_kind({4, 8, form}), PanelKind::f32) << "of groups of 8";
  form.group_size = 32;
  EXPECT_EQ(panel_kind({4, 32, form}), PanelKind::q8_0);
  form.group_size = 8;
  EXPECT_EQ(arrays_of({4, 8, form}).size(), 2U);
}

TEST(PackedRows, have_codes_along_a_row_and_scales_of_any_float) {
  using T = GroupTables;
  const GroupTables t;
  std::vector<std::uint32_t> codes(T::kOutputs * T::kInputs / 8);
  std::vector<std::uint32_t> zeros(T::kGroups * T::kOutputs / 8);
  std::vector<float> scales;
  for (int n = 0; n < T::kOutputs; ++n) {
    for (int k = 0; k < T::kInputs; ++k) {
      put(codes, n * (T::kInputs / 8) + k / 8, k % 8, t.code[n][k]);
    }
    for (int g = 0; g < T::kGroups; ++g) {
      put(zeros, g * T::kOutputs / 8 + n / 8, n % 8, t.zero[n][g]);
    }
  }
  for (int g = 0; g < T::kGroups; ++g) {
    for (const auto& row : t.scale) scales.push_back(row[g]);
  }
  const StoredLinear linear{T::kOutputs, T::kInputs,
                            StoredGroups{.packing = StoredGroups::Packing::rows,
                                         .group_size = T::kGroup,
                                         .codes = bytes_of(codes),
                                         .zeros = bytes_of(zeros),
                                         .scales = bytes_of(scales),
                                         .order = {},
                                         .scale_type = quant::WeightType::f32}};
  for (int n = 0; n < T::kOutputs; ++n) {
    EXPECT_EQ(row_of(linear, n), t.row(n, [](int k) { return k / T::kGroup; }));
  }
  EXPECT_EQ(panel_kind(linear), PanelKind::f32);
  // Packed as floats, the product is that of floats.
  ThreadPool pool(1);
  const LinearWeights packed({&linear, 1}, pool);
  EXPECT_TRUE(packed.is_finite());
  const auto x = numerics::random_values(T::kInputs, 3);
  std::vector<float> y(T::kOutputs), expected(T::kOutputs);
  ProductScratch scratch;
  multiply({x.data(), 1}, packed, y.data(), scratch, pool);
  multiply_reference(x.data(), 1, {&linear, 1}, expected.data());
  EXPECT_EQ(y, expected);
}

TEST(Awq, packs_outputs_in_an_order_of_its_own) {
  using T = GroupTables;
  const GroupTables t;
  constexpr int kOutputOfNibble[] = {0, 2, 4, 6, 1, 3, 5, 7};
  std::vector<std::uint32_t> codes(T::kInputs * T::kOutputs / 8);
  std::vector<std::uint32_t> zeros(T::kGroups * T::kOutputs / 8);
  for (int word = 0; word < T::kOutputs / 8; ++word) {
    for (int nibble = 0; nibble < 8; ++nibble) {
      const int n = 8 * word + kOutputOfNibble[nibble];
      for (int k = 0; k < T::kInputs; ++k) put(codes, k * 2 + word, nibble, t.code[n][k]);
      for (int g = 0; g < T::kGroups; ++g) put(zeros, g * 2 + word, nibble, t.zero[n][g]);
    }
  }
  const auto scales = t.scales();
  const StoredLinear linear{T::kOutputs, T::kInputs,
                            StoredGroups{StoredGroups::Packing::awq,
                                         T::kGroup,
                                         bytes_of(codes),
                                         bytes_of(zeros),
                                         bytes_of(scales),
                                         {}}};
  for (int n = 0; n < T::kOutputs; ++n) {
    EXPECT_EQ(row_of(linear, n), t.row(n, [](int k) { return k / T::kGroup; }));
  }
}

TEST(StoredLinearDeathTest, refuses_what_is_not_there) {
  const std::vector<std::byte> bytes(64);
  const StoredLinear rows{2, 8, StoredRows{quant::WeightType::f32, bytes.data()}};
  float out[8];
  EXPECT_DEATH(stored_row(rows, 2, out), "output=2 outputs=2");
  const StoredLinear i8{2, 8, StoredRows{quant::WeightType::i8, bytes.data()}};
  EXPECT_DEATH(stored_row(i8, 0, out), "I8");
}

}  // namespace
}  // namespace forge::linear
