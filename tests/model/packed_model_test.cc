#include "forge/model/packed_model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <utility>

#include "forge/linear/product.h"
#include "forge/numerics/half.h"
#include "forge/numerics/philox.h"
#include "model/stored_weights.h"
#include "model/told_reader.h"
#include "model/transformer_runner.h"
#include "numerics/test_values.h"

namespace forge::model {
namespace {

using quant::WeightType;
using testing::StoredWeights;

struct Packed {
  explicit Packed(WeightType type, const ModelConfig& config_in = testing::wide_latent())
      : config(config_in), stored(weights.random(config, type)) {
    model = pack(config, stored, threads).value();
  }

  ModelConfig config;
  StoredWeights weights;
  linear::ThreadPool threads{1};
  StoredModel stored;
  PackedModel model;
};

/// W as its product with unit vectors gives it: [K][N], the transpose.
std::vector<float> columns_of(const linear::LinearWeights& w, linear::ThreadPool& threads) {
  const auto K = static_cast<std::size_t>(w.inputs());
  std::vector<float> unit(K * K), columns(K * static_cast<std::size_t>(w.outputs()));
  for (std::size_t k = 0; k < K; ++k) unit[k * K + k] = 1;
  linear::ProductScratch scratch;
  linear::multiply({unit.data(), w.inputs()}, w, columns.data(), scratch, threads);
  return columns;
}

TEST(PackedModel, kv_up_is_taken_apart_by_heads_exactly_where_its_type_is_plain) {
  for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16}) {
    Packed packed(type);
    const auto& c = std::get<LatentConfig>(packed.config.attention);
    const auto& latent = std::get<PackedLatent>(packed.model.layers[0].attention);
    const auto& kv_up = std::get<StoredLatent>(packed.stored.layers[0].attention).kv_up;
    std::vector<float> row(256);
    for (int head = 0; head < c.heads; ++head) {
      // Of the transposed keys, product n is row n of the stored matrix.
      const auto keys = columns_of(latent.key_up[static_cast<std::size_t>(head)], packed.threads);
      const auto values =
          columns_of(latent.value_up[static_cast<std::size_t>(head)], packed.threads);
      const int first = head * (c.nope_size + c.value_size);
      for (int n = 0; n < c.nope_size; ++n) {
        stored_row(kv_up, first + n, row.data());
        ASSERT_TRUE(std::equal(row.begin(), row.end(), keys.begin() + n * c.kv_rank)) << n;
      }
      for (int v = 0; v < c.value_size; ++v) {
        stored_row(kv_up, first + c.nope_size + v, row.data());
        for (int i = 0; i < c.kv_rank; ++i) {
          ASSERT_EQ(values[static_cast<std::size_t>(i * c.value_size + v)],
                    row[static_cast<std::size_t>(i)]);
        }
      }
    }
  }
}

TEST(PackedModel, kv_up_that_is_quantized_becomes_f16) {
  const Packed packed(WeightType::q8_0);
  const auto& latent = std::get<PackedLatent>(packed.model.layers[0].attention);
  EXPECT_EQ(latent.key_up[0].sections()[0].kind, linear::PanelKind::f16);
  EXPECT_EQ(latent.value_up[0].sections()[0].kind, linear::PanelKind::f16);
  EXPECT_EQ(latent.kv_down.sections()[0].kind, linear::PanelKind::q8_0);
}

TEST(PackedModel, kv_up_that_is_stored_by_heads_is_packed_as_it_is) {
  Packed packed(WeightType::q8_0);
  auto& stored = std::get<StoredLatent>(packed.stored.layers[0].attention);
  stored.kv_up = {};
  const auto values = numerics::random_values(64 * 256, 5, 1.0F);
  for (int head = 0; head < 4; ++head) {
    stored.key_up.push_back(packed.weights.matrix(256, 48, values, WeightType::f16));
    stored.value_up.push_back(packed.weights.matrix(64, 256, values, WeightType::q8_0));
  }
  const PackedModel model = pack(packed.config, packed.stored, packed.threads).value();
  const auto& latent = std::get<PackedLatent>(model.layers[0].attention);
  ASSERT_EQ(latent.key_up.size(), 4u);
  ASSERT_EQ(latent.value_up.size(), 4u);
  EXPECT_EQ(latent.key_up[3].outputs(), 256);
  EXPECT_EQ(latent.key_up[3].inputs(), 48);
  EXPECT_EQ(latent.key_up[3].sections()[0].kind, linear::PanelKind::f16);
  EXPECT_EQ(latent.value_up[3].sections()[0].kind, linear::PanelKind::q8_0);
}

TEST(PackedModel, a_router_is_of_floats_whatever_the_file_has) {
  const Packed packed(WeightType::bf16, testing::wide_experts());
  const auto& experts = std::get<PackedExperts>(packed.model.layers[1].mlp);
  EXPECT_EQ(experts.router.sections()[0].kind, linear::PanelKind::f32);
  EXPECT_EQ(experts.experts[0].down.sections()[0].kind, linear::PanelKind::bf16);
}

/// In panels of rows.
linear::PanelKind kind_of(const linear::LinearWeights& matrix) {
  return matrix.sections().front().kind;
}

/// Beside numbers of 16 bits to their type, of codes alone to BF16.
TEST(PackedModel, a_router_is_rounded_to_rows_of_the_models_type) {
  using linear::PanelKind;
  const ModelConfig config = testing::wide_latent();
  linear::ThreadPool threads(1);
  for (const auto& [type, kind] : {std::pair(WeightType::f16, PanelKind::f16_rows),
                                   std::pair(WeightType::bf16, PanelKind::bf16_rows),
                                   std::pair(WeightType::q8_0, PanelKind::bf16_rows)}) {
    StoredWeights weights;
    StoredModel stored = weights.random(config, type);
    auto& mlp = std::get<StoredExperts>(stored.layers[1].mlp);
    const auto numbers = numerics::random_values(8 * 256, 7);
    mlp.router = weights.matrix(8, 256, numbers, WeightType::f32);
    const PackedModel model = pack(config, stored, threads, {.rows = true}).value();
    const auto& router = std::get<PackedExperts>(model.layers[1].mlp).router;
    ASSERT_EQ(kind_of(router), kind);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, router.sections().front().panels + 2 * i, sizeof bits);
      ASSERT_EQ(bits, kind == PanelKind::f16_rows ? numerics::to_f16(numbers[i]).bits
                                                  : numerics::to_bf16(numbers[i]).bits);
    }
    EXPECT_EQ(packed_layout(config, stored, {.rows = true}).bytes(), model.bytes());
  }
}

/// Which products of heads have no codes of, whether they were in one matrix or by heads.
TEST(PackedModel, heads_of_latents_in_codes_become_rows_of_the_models_type) {
  using linear::PanelKind;
  for (const auto& [of_head, kind] : {std::pair(WeightType::q8_0, PanelKind::bf16_rows),
                                      std::pair(WeightType::f16, PanelKind::f16_rows)}) {
    Packed packed(WeightType::q8_0);
    packed.stored.head = packed.weights.random(packed.config, of_head).head;
    auto& first = std::get<StoredLatent>(packed.stored.layers[0].attention);
    first.kv_up = {};
    const auto values = numerics::random_values(64 * 256, 5, 1.0F);
    for (int head = 0; head < 4; ++head) {
      first.key_up.push_back(packed.weights.matrix(256, 64, values, WeightType::q4_0));
      first.value_up.push_back(packed.weights.matrix(64, 256, values, WeightType::q8_0));
    }
    const PackedModel model =
        pack(packed.config, packed.stored, packed.threads, {.rows = true}).value();
    for (const PackedModelLayer& layer : model.layers) {
      const auto& latent = std::get<PackedLatent>(layer.attention);
      EXPECT_EQ(kind_of(latent.key_up[3]), kind);
      EXPECT_EQ(kind_of(latent.value_up[3]), kind);
      EXPECT_EQ(kind_of(latent.kv_down), PanelKind::q8_0);
    }
  }
}

TEST(PackedModel, a_router_that_f16_does_not_hold_is_refused_with_its_place) {
  const ModelConfig config = testing::wide_experts();
  linear::ThreadPool threads(1);
  StoredWeights weights;
  StoredModel stored = weights.random(config, WeightType::f16);
  auto& router = std::get<StoredExperts>(stored.layers[1].mlp).router;
  auto numbers = numerics::random_values(6 * 256, 7);
  numbers[3 * 256 + 17] = 70000;
  router = weights.matrix(6, 256, numbers, WeightType::f32);
  EXPECT_TRUE(pack(config, stored, threads));
  const auto packed = pack(config, stored, threads, {.rows = true});
  ASSERT_FALSE(packed);
  const auto& fault = std::get<WeightFault>(packed.error());
  EXPECT_EQ(fault.numbers, std::get<linear::StoredRows>(router.form).rows);
  EXPECT_EQ(fault.row, 3U);
  EXPECT_EQ(fault.column, 17U);
  EXPECT_EQ(fault.value, 70000);
}

TEST(PackedModel, the_head_of_a_tied_model_is_its_embedding) {
  ModelConfig config = testing::wide_llama();
  config.tied_head = true;
  const Packed packed(WeightType::bf16, config);
  EXPECT_EQ(packed.model.head.outputs(), config.vocabulary_size);
  EXPECT_EQ(packed.model.head.inputs(), config.hidden_size);
}

TEST(PackedModel, every_matrix_is_announced_read_and_given_back_once_and_one_at_a_time) {
  for (const ModelConfig& config : {testing::wide_latent(), testing::wide_experts()}) {
    StoredWeights weights;
    linear::ThreadPool threads(1);
    StoredModel stored = weights.random(config, WeightType::f16);
    const auto start = [](const linear::StoredLinear& matrix) {
      return std::get<linear::StoredRows>(matrix.form).rows;
    };
    std::map<const std::byte*, int> state;  // 1: announced, 2: given back
    int open = 0, most = 0;
    testing::ToldReader reader(
        [&](const linear::StoredLinear& matrix) {
          EXPECT_EQ(state[start(matrix)]++, 0);
          most = std::max(most, ++open);
        },
        [&](const linear::StoredLinear& matrix) {
          EXPECT_EQ(state[start(matrix)]++, 1);
          --open;
        });
    ASSERT_TRUE(pack(config, stored, threads, {.reader = &reader}));
    testing::for_each_matrix(stored, [&](const linear::StoredLinear& matrix) {
      if (start(matrix) == start(stored.embedding)) return;
      EXPECT_EQ(state[start(matrix)], 2);
    });
    EXPECT_EQ(open, 0);
    EXPECT_EQ(most, config.experts->experts > 6 ? 2 : 3);  // query, key and value together
  }
}

/// A GPTQ layer of random codes in memory, its groups of a size that products have no panels for.
struct FineGroups {
  FineGroups(int inputs, int group_size) {
    const auto words = [](std::size_t count, std::uint32_t seed) {
      std::vector<std::uint32_t> out(count);
      for (std::uint32_t i = 0; i < count; ++i)
        out[i] = numerics::philox({{i, 0, 0, 0}}, seed).x[0];
      return out;
    };
    const auto groups = static_cast<std::size_t>(inputs / group_size);
    codes = words(static_cast<std::size_t>(inputs / 8) * kOutputs, 1);
    zeros = words(groups * kOutputs / 8, 2);
    for (std::size_t i = 0; i < groups * kOutputs; ++i) {
      scales.push_back(numerics::to_f16(0.25F + 0.001F * static_cast<float>(i)));
    }
    const auto bytes = [](const auto& numbers) { return std::as_bytes(std::span(numbers)).data(); };
    linear = {kOutputs, inputs,
              linear::StoredGroups{linear::StoredGroups::Packing::gptq,
                                   group_size,
                                   bytes(codes),
                                   bytes(zeros),
                                   bytes(scales),
                                   {}}};
  }
  static constexpr int kOutputs = 256;
  std::vector<std::uint32_t> codes, zeros;
  std::vector<numerics::F16> scales;
  linear::StoredLinear linear;
};

TEST(PackedModel, groups_of_16_are_packed_as_floats_exactly) {
  for (const int group_size : {16, 256}) {
    const FineGroups groups(256, group_size);
    Packed packed(WeightType::f16, testing::wide_llama());
    auto& attention = std::get<StoredGroupedQuery>(packed.stored.layers[0].attention);
    ASSERT_EQ(attention.output.outputs, FineGroups::kOutputs);
    attention.output = groups.linear;
    const PackedModel model = pack(packed.config, packed.stored, packed.threads).value();
    const auto& output = std::get<PackedGroupedQuery>(model.layers[0].attention).output;
    if (group_size == 256) {
      EXPECT_EQ(output.sections()[0].kind, linear::PanelKind::int4) << "as larger groups are";
      continue;
    }
    EXPECT_EQ(output.sections()[0].kind, linear::PanelKind::f32);
    const std::vector<float> columns = columns_of(output, packed.threads);
    std::vector<float> row(256);
    for (int n = 0; n < FineGroups::kOutputs; ++n) {
      stored_row(groups.linear, n, row.data());
      for (int k = 0; k < 256; ++k) {
        ASSERT_EQ(columns[static_cast<std::size_t>(k * FineGroups::kOutputs + n)],
                  row[static_cast<std::size_t>(k)]);
      }
    }
  }
}

TEST(PackedModel, takes_the_bytes_of_what_products_read) {
  const Packed packed(WeightType::f16, testing::wide_llama());
  // qkv, output, gate and up, down, in two layers; the head is padded to 96 outputs.
  const std::size_t layer = (512 + 256 + 512 + 256) * 256 * 2;
  EXPECT_EQ(packed.model.bytes(), 2 * layer + 96 * 256 * 2);
}

}  // namespace
}  // namespace forge::model
