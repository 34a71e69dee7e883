// gpt-oss: experts in one tensor a layer, plain or in MXFP4, what its keys mean, and what does not
// fit together.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/gguf_config.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/checkpoint/row_source.h"
#include "forge/checkpoint/weight_mix.h"
#include "forge/checkpoint/write_model.h"
#include "forge/model/weights_digest.h"
#include "model/transformer_runner.h"

namespace forge::checkpoint {
namespace {

using formats::ElementType;
using formats::testing::ScratchFolder;
using linear::StoredLinear;
using testing::EditableCheckpoint;
using testing::EditableGguf;
using testing::golden;

constexpr const char* kTensor = "model.safetensors: tensor '";
const std::string kExpertsOf1 = "model.layers.1.mlp.experts.";

const model::StoredExperts& experts_of(const Checkpoint& checkpoint, std::size_t layer) {
  return std::get<model::StoredExperts>(checkpoint.model().layers[layer].mlp);
}

std::vector<float> row_of(const StoredLinear& matrix, int row) {
  std::vector<float> out(static_cast<std::size_t>(matrix.inputs));
  stored_row(matrix, row, out.data());
  return out;
}

/// Number `index` of a tensor of floats.
float number_of(const testing::EditableTensor& tensor, std::size_t index) {
  float value = 0;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof value, sizeof value);
  return value;
}

TEST(GptOss, matrices_of_an_expert_are_columns_of_a_tensor_gate_and_up_in_turn) {
  const Checkpoint checkpoint = testing::opened(golden("gpt_oss"));
  const auto original = EditableCheckpoint::of("gpt_oss");
  const auto& gate_up = original.tensors.at(kExpertsOf1 + "gate_up_proj");  // [5][36][40]
  const auto& down = original.tensors.at(kExpertsOf1 + "down_proj");        // [5][20][36]
  const auto& bias = original.tensors.at(kExpertsOf1 + "gate_up_proj_bias");
  const model::StoredMlp& expert = experts_of(checkpoint, 1).experts[4];
  for (int n = 0; n < 20; ++n) {
    const auto column = static_cast<std::size_t>(n) * 2;
    for (std::size_t k = 0; k < 36; ++k) {
      EXPECT_EQ(row_of(expert.gate, n)[k], number_of(gate_up, (4 * 36 + k) * 40 + column));
      EXPECT_EQ(row_of(expert.up, n)[k], number_of(gate_up, (4 * 36 + k) * 40 + column + 1));
      EXPECT_EQ(row_of(expert.down, static_cast<int>(k))[static_cast<std::size_t>(n)],
                number_of(down, (4 * 20 + static_cast<std::size_t>(n)) * 36 + k));
    }
    EXPECT_EQ(expert.gate_bias[static_cast<std::size_t>(n)], number_of(bias, 4 * 40 + column));
    EXPECT_EQ(expert.up_bias[static_cast<std::size_t>(n)], number_of(bias, 4 * 40 + column + 1));
  }
}

TEST(GptOss, is_one_model_in_mxfp4_of_both_formats_and_has_the_numbers_of_the_plain_one) {
  linear::ThreadPool threads(1);
  const Checkpoint published = testing::opened(golden("gpt_oss_codes_mxfp4"));
  const Checkpoint gguf = testing::opened(golden("gpt_oss_codes_mxfp4") + "/model.gguf");
  EXPECT_EQ(published.config(), gguf.config());
  EXPECT_EQ(digest_of(published.model(), threads), digest_of(gguf.model(), threads));
  const Checkpoint plain = testing::opened(golden("gpt_oss_codes"));
  EXPECT_EQ(published.config(), plain.config());
  for (std::size_t layer = 0; layer < 3; ++layer) {
    for (std::size_t e = 0; e < 3; ++e) {
      const model::StoredMlp& codes = experts_of(published, layer).experts[e];
      const model::StoredMlp& floats = experts_of(plain, layer).experts[e];
      EXPECT_EQ(std::get<linear::StoredRows>(codes.up.form).type, quant::WeightType::mxfp4);
      for (int row = 0; row < 32; ++row) {
        EXPECT_EQ(row_of(codes.gate, row), row_of(floats.gate, row));
        EXPECT_EQ(row_of(codes.up, row), row_of(floats.up, row));
        EXPECT_EQ(row_of(codes.down, row), row_of(floats.down, row));
      }
    }
  }
}

TEST(GptOss, keys_left_out_have_the_values_of_its_class) {
  const auto config = parse_hf_config(
      R"({"model_type": "gpt_oss", "vocab_size": 96, "hidden_size": 32, "intermediate_size": 8,
          "num_hidden_layers": 3, "num_attention_heads": 4})",
      "config.json");
  ASSERT_TRUE(config) << to_string(config.error());
  const model::ModelConfig& model = config->model;
  EXPECT_EQ(model.positions, 131072);
  EXPECT_EQ(model.swiglu_alpha, 1.702F);
  EXPECT_EQ(model.swiglu_limit, 7);
  EXPECT_EQ(model.rope.base, 150000);
  const model::YarnRope yarn{
      .factor = 32, .attention_factor = 0.1 * std::log(32) + 1, .truncate = false};
  EXPECT_EQ(model.rope.scaling, model::RopeScaling(yarn));
  EXPECT_EQ(model.experts->experts, 128);
  EXPECT_EQ(model.experts->experts_per_token, 4);
  const auto& attention = std::get<model::GroupedQueryConfig>(model.attention);
  EXPECT_EQ(attention.head_size, 64);
  EXPECT_TRUE(attention.sinks && attention.qkv_bias && attention.output_bias);
  EXPECT_EQ(attention.sliding_window, 128);
  EXPECT_EQ(attention.full_layers, (std::vector<bool>{false, true, false}));
}

TEST(GptOss, values_that_are_not_accepted_are_named) {
  const auto error_with = [](const char* key, const nlohmann::json& value) {
    auto edited = EditableCheckpoint::of("gpt_oss");
    edited.config[key] = value;
    return edited.error();
  };
  EXPECT_EQ(error_with("swiglu_limit", -1),
            "config.json: swiglu_limit is -1; accepted is a number, 0.001 .. 1e+06");
  EXPECT_EQ(error_with("swiglu_alpha", 0),
            "config.json: swiglu_alpha is 0; accepted is a number, 0.001 .. 1e+06");
  EXPECT_EQ(error_with("hidden_act", "gelu"),
            "config.json: hidden_act is \"gelu\"; accepted is \"silu\"");
  EXPECT_EQ(error_with("num_experts_per_tok", 6),
            "config.json: num_experts_per_tok is 6; accepted is 1 .. 5");
  EXPECT_EQ(error_with("num_local_experts", 6),
            std::string(kTensor) +
                "model.layers.0.mlp.router.weight': is F32[5, 36]; needed is a type of weights, "
                "[6, 36]");
  EXPECT_EQ(error_with("attention_bias", false), "") << "the biases are there and not used";
}

TEST(GptOss, tensors_that_contradict_the_configuration_are_named) {
  const auto error_of = [](const std::string& name, std::vector<std::uint64_t> shape) {
    auto edited = EditableCheckpoint::of("gpt_oss");
    std::size_t count = 1;
    for (const std::uint64_t size : shape) count *= size;
    edited.tensors[name] = testing::floats(std::move(shape), std::vector<float>(count));
    return edited.error();
  };
  const std::string gate_up = kExpertsOf1 + "gate_up_proj";
  EXPECT_EQ(error_of(gate_up, {5, 40, 36}), kTensor + gate_up +
                                                "': is F32[5, 40, 36]; needed is F32, F16 or BF16 "
                                                "[5, 36, 40], or " +
                                                gate_up + "_blocks of MXFP4");
  EXPECT_EQ(error_of(gate_up + "_bias", {5, 20}),
            kTensor + gate_up + "_bias': is F32[5, 20]; needed is F32, F16 or BF16 [5, 40]");
  const std::string sinks = "model.layers.1.self_attn.sinks";
  EXPECT_EQ(error_of(sinks, {3}), kTensor + sinks + "': is F32[3]; needed is F32, F16 or BF16 [9]");
  auto edited = EditableCheckpoint::of("gpt_oss");
  edited.tensors.erase(sinks);
  EXPECT_EQ(edited.error(), kTensor + sinks + "': is missing; needed is F32, F16 or BF16 [9]");
  EditableGguf gguf("gpt_oss_codes");
  gguf.tensors.erase("blk.1.attn_sinks.weight");
  EXPECT_EQ(gguf.error(),
            "tensor 'blk.1.attn_sinks.weight': is missing; needed is F32, F16 or BF16 [3]");
}

TEST(GptOss, numbers_that_are_not_finite_are_named_where_the_file_has_them) {
  const auto error_with = [](const std::string& name, std::size_t index) {
    auto edited = EditableCheckpoint::of("gpt_oss");
    constexpr float kNan = NAN;
    std::memcpy(&edited.tensors.at(name).bytes[index * sizeof kNan], &kNan, sizeof kNan);
    return edited.error();
  };
  const std::string gate_up = kExpertsOf1 + "gate_up_proj";
  const std::string accepted = "; accepted are finite numbers";
  EXPECT_EQ(error_with(gate_up, (3 * 36 + 35) * 40 + 6),
            kTensor + gate_up + "': has nan at [3, 35, 6]" + accepted);
  EXPECT_EQ(error_with(kExpertsOf1 + "down_proj", (4 * 20 + 1) * 36 + 7),
            kTensor + kExpertsOf1 + "down_proj': has nan at [4, 1, 7]" + accepted);
  EXPECT_EQ(error_with(gate_up + "_bias", 2 * 40 + 39),
            kTensor + gate_up + "_bias': has nan at [2, 39]" + accepted);
}

TEST(GptOss, mxfp4_that_is_not_whole_is_named) {
  const std::string codes = kExpertsOf1 + "down_proj_blocks";   // [3][32][1][16]
  const std::string scales = kExpertsOf1 + "down_proj_scales";  // [3][32][1]
  auto edited = EditableCheckpoint::of("gpt_oss_codes_mxfp4");
  EXPECT_EQ(edited.error(), "");
  edited.tensors.at(scales).bytes[2 * 32 + 5] = '\xff';
  EXPECT_EQ(edited.error(),
            kTensor + scales + "': has 255 at [2, 5, 0]; accepted are exponents 0 .. 252");
  edited.tensors.erase(scales);
  EXPECT_EQ(edited.error(), kTensor + scales + "': is missing; needed is U8[3, 32, 1]");
  edited = EditableCheckpoint::of("gpt_oss_codes_mxfp4");
  edited.tensors.at(codes).shape = {3, 32, 16};
  EXPECT_EQ(edited.error(), kTensor + codes + "': is U8[3, 32, 16]; needed is U8[3, 32, 1, 16]");
  edited = EditableCheckpoint::of("gpt_oss_codes_mxfp4");
  edited.config["intermediate_size"] = 40;
  EXPECT_EQ(edited.error(),
            std::string(kTensor) +
                "model.layers.0.mlp.experts.gate_up_proj_blocks': is U8[3, 64, 1, 16]; needed is "
                "U8[3, 80, 1, 16]");
}

TEST(GptOss, a_number_that_a_type_cannot_hold_is_named_where_it_was_read) {
  auto edited = EditableCheckpoint::of("gpt_oss");
  constexpr float kTooLarge = 65520;
  const std::string gate_up = kExpertsOf1 + "gate_up_proj";
  std::memcpy(&edited.tensors.at(gate_up).bytes[((2 * 36 + 9) * 40 + 17) * sizeof kTooLarge],
              &kTooLarge, sizeof kTooLarge);
  const ScratchFolder folder;
  edited.write(folder);
  const Checkpoint checkpoint = testing::opened(folder.path());
  linear::ThreadPool threads(2);
  for (const ModelFormat format : {ModelFormat::gguf, ModelFormat::safetensors}) {
    std::vector<FileTensor> tensors = file_tensors(checkpoint.config(), checkpoint.model(), format);
    choose_types(WeightMix{.type = quant::WeightType::f16}, checkpoint.config(), tensors);
    StoredRowSource source(checkpoint);
    const ModelRows rows{tensors, source, threads};
    const auto written = format == ModelFormat::gguf
                             ? write_gguf(folder.file("x.gguf"), {}, rows)
                             : write_safetensors(folder.file("x"), {}, rows);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error(), "tensor '" + gate_up +
                                   "' at [2, 9, 17] is 65520; accepted are finite numbers below "
                                   "65520 for F16");
  }
}

}  // namespace
}  // namespace forge::checkpoint
