// A model's configuration is written in either format and read again: it is the same, or what the
// format cannot say is named.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "checkpoint/any_config.h"
#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/gguf_config.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/core/range.h"
#include "forge/formats/tensor_writer.h"

namespace forge::checkpoint {
namespace {

using model::ModelConfig;
using testing::any_config;
using testing::golden;

ModelConfig golden_config(const std::string& name) { return read_hf_config(golden(name))->model; }

std::string json_error(const ModelConfig& model) {
  const auto text = config_text(model, quant::WeightType::f32);
  return text ? "" : text.error();
}

std::string gguf_error(const ModelConfig& model) {
  const auto fits = check_for_gguf(model);
  return fits ? "" : fits.error();
}

/// Through config.json.
ModelConfig through_json(const ModelConfig& model) {
  const auto text = config_text(model, quant::WeightType::bf16);
  EXPECT_TRUE(text) << text.error();
  const auto read = parse_hf_config(text.value_or("{}"), "config.json");
  EXPECT_TRUE(read) << to_string(read.error());
  return read.value_or(HfConfig{}).model;
}

/// The tensors that say what no key does.
std::vector<formats::TensorSpec> telling_tensors(const ModelConfig& model) {
  std::vector<formats::TensorSpec> specs;
  const auto add = [&](bool there, const std::string& name, std::uint64_t size = 1) {
    if (there) specs.push_back({.name = name, .shape = {size}});
  };
  const auto* const grouped = std::get_if<model::GroupedQueryConfig>(&model.attention);
  add(!model.tied_head, "output.weight");
  add(grouped != nullptr && grouped->qkv_bias, "blk.0.attn_q.bias");
  add(grouped != nullptr && grouped->output_bias, "blk.0.attn_output.bias");
  if (model.experts && model.experts->correction_bias) {
    int layer = 0;
    while (is_dense(model, layer)) ++layer;
    add(true, "blk." + std::to_string(layer) + ".exp_probs_b.bias");
  }
  add(model.mlp_bias, "blk.0.ffn_up.bias");
  for (const RopeTable& table : rope_tables(model.rope)) {
    add(true, table.name, table.divisors.size());
  }
  return specs;
}

/// Through the metadata of a GGUF file.
ModelConfig through_gguf(const ModelConfig& model) {
  formats::GgufKeys keys;
  EXPECT_TRUE(describe_in_gguf(model, keys));
  const formats::testing::ScratchFolder folder;
  const std::string path = folder.file("model.gguf");
  const auto specs = telling_tensors(model);
  auto writer = formats::TensorWriter::gguf(path, specs, keys.metadata()).value();
  for (const formats::TensorSpec& spec : specs) {
    std::vector<float> numbers(spec.shape.front());
    for (const RopeTable& table : rope_tables(model.rope)) {
      if (spec.name == table.name) numbers = table.divisors;
    }
    EXPECT_TRUE(writer.write(std::as_bytes(std::span(numbers))));
  }
  EXPECT_TRUE(writer.finish());
  const auto read = read_gguf_config(formats::Gguf::open(path).value());
  EXPECT_TRUE(read) << to_string(read.error());
  return read.value_or(ModelConfig{});
}

RC_GTEST_PROP(ConfigRoundTrip, config_json_of_any_model_of_any_family_is_the_model, ()) {
  for (const char* const family : testing::kFamilies) {
    const ModelConfig model = *any_config(family);
    RC_ASSERT(validate(model).has_value());
    RC_ASSERT(json_error(model) == "");
    RC_ASSERT(through_json(model) == model);
  }
}

/// Layers with a window have no scaling; where others have one, their RoPE is another one.
bool cannot_say_window_rope(const ModelConfig& model) {
  const bool may_have = model.family == "olmo3" || model.family == "gemma3_text";
  const auto* const grouped = std::get_if<model::GroupedQueryConfig>(&model.attention);
  if (!may_have || grouped->sliding_window == 0) return false;
  const model::RopeConfig rope = model.window_rope.value_or(model.rope);
  return rope.scaling != model::RopeScaling();
}

/// What llama.cpp's keys leave out.
bool gguf_has_no_words_for(const ModelConfig& model) {
  if (std::holds_alternative<model::DynamicRope>(model.rope.scaling)) return true;
  if (cannot_say_window_rope(model)) return true;
  for (std::size_t i = 0; model.family == "smollm3" && i < model.unturned_layers.size(); ++i) {
    if (model.unturned_layers[i] != ((i + 1) % 4 == 0)) return true;
  }
  if (model.family == "smollm3" && model.unturned_layers.empty() && model.layers >= 4) return true;
  const auto* const yarn = std::get_if<model::YarnRope>(&model.rope.scaling);
  const bool gpt_oss = model.family == "gpt_oss";  // whose ramp is never rounded
  if (yarn != nullptr && yarn->truncate == gpt_oss) return true;
  if (gpt_oss && (model.swiglu_alpha != 1.702F || model.swiglu_limit != 7)) return true;
  if (model.eos.size() > 3) return true;
  if (model.experts) {
    const auto& dense = model.experts->dense_layers;
    const auto first = std::ranges::find(dense, false);
    if (first == dense.end() || std::find(first, dense.end(), true) != dense.end()) return true;
    if (model.family.starts_with("qwen") && dense.front()) return true;
  }
  const auto* const latent = std::get_if<model::LatentConfig>(&model.attention);
  if (latent == nullptr) return false;
  if (model.rope.pairing == model::RopePairing::halves) return true;
  if (yarn == nullptr) return model.rope.scaling != model::RopeScaling();
  const float unscaled =
      static_cast<float>(1 / std::sqrt(double{1} * latent->nope_size + latent->rope_size));
  return yarn->attention_factor != 1 || (model.attention_scale == unscaled && yarn->factor != 1);
}

RC_GTEST_PROP(ConfigRoundTrip, gguf_of_any_model_is_the_model_or_cannot_say_it, ()) {
  const ModelConfig model = *any_config(*rc::gen::elementOf(testing::kFamilies));
  const std::string error = gguf_error(model);
  RC_CLASSIFY(error.empty(), "written");
  if (gguf_has_no_words_for(model)) {
    RC_ASSERT(error.starts_with("GGUF cannot say this model: "));
    return;
  }
  RC_ASSERT(error == "");
  const ModelConfig read = through_gguf(model);
  ModelConfig expected = as_in_gguf(model);
  // Of YaRN over latents, the file has a float that the scale is made from.
  RC_ASSERT(std::abs(read.attention_scale / expected.attention_scale - 1) < 1e-6);
  expected.attention_scale = read.attention_scale;
  RC_ASSERT(read == expected);
  if (std::holds_alternative<model::TabledRope>(read.rope.scaling)) return;  // see below
  ModelConfig back = through_json(read);
  back.attention_scale = model.attention_scale;
  // Without a window, one is a llama and the other an olmo2.
  if (model.family == "mistral" || model.family == "olmo3") back.family = model.family;
  RC_ASSERT(back == model);
}

TEST(ConfigRoundTrip, every_golden_model_is_its_config_json) {
  int models = 0;
  for (const auto& folder : std::filesystem::directory_iterator(FORGE_GOLDEN_MODELS)) {
    if (!std::filesystem::exists(folder.path() / "config.json")) continue;
    const ModelConfig model = read_hf_config(folder.path().string())->model;
    EXPECT_EQ(through_json(model), model) << folder.path();
    ++models;
  }
  EXPECT_GE(models, 15);
}

TEST(ConfigRoundTrip, golden_models_of_every_family_are_in_gguf_what_they_are) {
  for (const char* const name :
       {"llama", "llama3_rope", "mistral", "mistral_sliding", "qwen2", "qwen3", "olmo2", "granite",
        "deepseek_v2_lite", "deepseek_v3", "llama_biases", "qwen2_windows", "mixtral", "smollm3",
        "phi3", "glm4", "gemma2", "gemma3", "gpt_oss_codes"}) {
    const ModelConfig model = golden_config(name);
    EXPECT_EQ(gguf_error(model), "") << name;
    EXPECT_EQ(through_gguf(model), as_in_gguf(model)) << name;
  }
}

TEST(ConfigRoundTrip, tables_of_llama_3_become_its_parameters_again) {
  ModelConfig model = golden_config("llama3_rope");
  model.rope.base = 500000;
  model.rope.scaling = model::Llama3Rope{.factor = 32};
  EXPECT_EQ(through_json(as_in_gguf(model)), model);
}

TEST(ConfigRoundTrip, what_config_json_cannot_say_is_refused_by_name) {
  const std::string head = "config.json cannot say this model: ";
  ModelConfig qwen = golden_config("qwen3_moe_unnormed");
  qwen.experts->routed_scale = 2;
  EXPECT_EQ(json_error(qwen), head + "experts.routed_scale is 2 and would be read as 1");
  ModelConfig v3 = golden_config("deepseek_v3");
  v3.experts->correction_bias = false;
  EXPECT_EQ(json_error(v3), head + "experts.correction_bias is false and would be read as true");
  ModelConfig llama = golden_config("llama");
  llama.attention_scale = 0.5F;
  EXPECT_EQ(json_error(llama), head + "attention_scale is 0.5 and would be read as " +
                                   number_text(double{golden_config("llama").attention_scale}));
  llama = golden_config("llama");
  llama.rope.size = 4;
  EXPECT_EQ(json_error(llama), head + "rope.size is 4 and would be read as 8");
  llama = golden_config("llama");
  std::get<model::GroupedQueryConfig>(llama.attention).qkv_bias = true;
  EXPECT_EQ(json_error(llama), head + "qkv_bias is true and would be read as false");
  llama = as_in_gguf(golden_config("llama3_rope"));
  EXPECT_EQ(json_error(llama),
            "config.json has no key for the divisors of rope_freqs.weight, which are not those of "
            "llama3 scaling with low_freq_factor 1, high_freq_factor 4 and "
            "original_max_position_embeddings 8192");
  llama.family = "gpt2";
  EXPECT_TRUE(json_error(llama).starts_with(
      "models of family gpt2 cannot be written as config.json; accepted are \"llama\", "));
}

TEST(ConfigRoundTrip, what_gguf_cannot_say_is_refused_by_name) {
  const std::string head = "GGUF cannot say this model: ";
  EXPECT_EQ(gguf_error(golden_config("qwen3_moe")),
            head +
                "ffn_size is 40 and would be read as 0; experts.dense_layers is [ 1 0 0 ] and "
                "would be read as [ 0 0 0 ]");
  EXPECT_TRUE(gguf_error(golden_config("deepseek_v2"))
                  .starts_with(head + "rope.scaling.attention_factor is 1.0"));
  ModelConfig llama = golden_config("llama");
  llama.eos = {5, 6, 7, 8};
  EXPECT_EQ(gguf_error(llama), head + "eos is [ 5 6 7 8 ] and would be read as [ 5 6 7 ]");
  EXPECT_EQ(gguf_error(golden_config("gpt_oss")),
            head + "swiglu_alpha is " + number_text(double{1.2F}) + " and would be read as " +
                number_text(double{1.702F}) + "; swiglu_limit is 2.5 and would be read as 7");
  ModelConfig gpt_oss = golden_config("gpt_oss_codes");
  std::get<model::YarnRope>(gpt_oss.rope.scaling).truncate = true;
  EXPECT_EQ(gguf_error(gpt_oss), head + "rope.scaling.truncate is true and would be read as false");
  llama = golden_config("llama");
  llama.attention = model::LatentConfig{};
  llama.rope.size = 64;
  EXPECT_TRUE(gguf_error(llama).starts_with(head));
  llama.family = "gpt2";
  EXPECT_TRUE(gguf_error(llama).starts_with(
      "models of family gpt2 cannot be written as GGUF; accepted are \"llama\", "));
}

TEST(ConfigRoundTrip, fractions_are_rounded_to_the_floats_of_gguf) {
  ModelConfig model = golden_config("qwen2");
  model.rope.base = 10000.1;
  const ModelConfig read = through_gguf(model);
  EXPECT_EQ(read.rope.base, double{10000.1F});
  model.rope.base = read.rope.base;
  EXPECT_EQ(read, model);
}

TEST(ConfigRoundTrip, config_json_has_the_type_of_its_tensors) {
  const std::string text = R"({"torch_dtype": "float32", "quantization_config": {}})";
  EXPECT_EQ(nlohmann::json::parse(config_with_type(text, quant::WeightType::f16)),
            nlohmann::json::parse(R"({"torch_dtype": "float16"})"));
  EXPECT_EQ(nlohmann::json::parse(config_with_type(R"({"dtype": 1})", quant::WeightType::bf16)),
            nlohmann::json::parse(R"({"dtype": "bfloat16"})"));
}

}  // namespace
}  // namespace forge::checkpoint
