// GGUF siblings of the golden models are the same models; and what is wrong with metadata.
#include "forge/checkpoint/gguf_config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/formats/tensor_writer.h"
#include "trained_checkpoints.h"

namespace forge::checkpoint {
namespace {

using formats::Gguf;
using formats::GgufMetadata;
using formats::GgufTexts;
using formats::GgufValue;
using testing::golden;

model::ModelConfig gguf_model(const std::string& path) {
  const Gguf gguf = Gguf::open(path).value();
  const auto config = read_gguf_config(gguf);
  EXPECT_TRUE(config) << to_string(config.error());
  return config.value_or(model::ModelConfig{});
}

TEST(GgufConfig, qwen2_is_its_checkpoint) {
  EXPECT_EQ(gguf_model(golden("qwen2") + "/model.gguf"), read_hf_config(golden("qwen2"))->model);
}

TEST(GgufConfig, llama_is_its_checkpoint_with_pairs_side_by_side) {
  model::ModelConfig expected = read_hf_config(golden("llama"))->model;
  expected.rope.pairing = model::RopePairing::adjacent;
  EXPECT_EQ(gguf_model(golden("llama") + "/model.gguf"), expected);
}

TEST(GgufConfig, scaling_of_llama3_is_a_table) {
  model::ModelConfig config = gguf_model(golden("llama3_rope") + "/model.gguf");
  const auto divisors = std::get<model::TabledRope>(config.rope.scaling).divisors;
  ASSERT_EQ(divisors.size(), 8u);
  EXPECT_EQ(divisors.front(), 1) << "the shortest wave is kept";
  EXPECT_EQ(divisors.back(), 4) << "the longest is divided by the factor";

  model::ModelConfig expected = read_hf_config(golden("llama3_rope"))->model;
  expected.rope.pairing = model::RopePairing::adjacent;
  expected.rope.scaling = config.rope.scaling;
  EXPECT_EQ(config, expected);
}

using TrainedGgufConfig = testing::TrainedCheckpointTest;

TEST_P(TrainedGgufConfig, is_that_of_its_checkpoint) {
  model::ModelConfig expected = read_hf_config(GetParam().folder)->model;
  expected.rope.pairing = model::RopePairing::adjacent;
  EXPECT_EQ(gguf_model(GetParam().gguf()), expected);
}

INSTANTIATE_TEST_SUITE_P(Of, TrainedGgufConfig, testing::both_trained_checkpoints(),
                         testing::label_of);

/// Metadata of a model that needs no tensors to be described.
class GgufConfigKeys : public ::testing::Test {
 protected:
  GgufConfigKeys() {
    set("general.architecture", std::string_view("qwen3"));
    for (const auto& [key, value] :
         {std::pair("block_count", 2), std::pair("context_length", 4096),
          std::pair("embedding_length", 32), std::pair("feed_forward_length", 64),
          std::pair("attention.head_count", 4), std::pair("attention.head_count_kv", 2),
          std::pair("vocab_size", 96)}) {
      set(std::string("qwen3.") + key, static_cast<std::uint32_t>(value));
    }
    set("qwen3.attention.layer_norm_rms_epsilon", 0.001F);
  }

  void set(const std::string& key, GgufValue value) {
    metadata_.insert_or_assign(key, std::move(value));
  }

  /// With all keys of the architecture under another one.
  void rename(std::string_view architecture) {
    GgufMetadata renamed;
    for (const auto& [key, value] : metadata_) {
      const bool own = key.starts_with("qwen3.");
      renamed.insert_or_assign(own ? std::string(architecture) + key.substr(5) : key, value);
    }
    metadata_ = std::move(renamed);
    set("general.architecture", architecture);
  }

  /// What the file is read to.
  tl::expected<model::ModelConfig, formats::FileError> read() const {
    const std::string path = folder_.file("model.gguf");
    auto writer = formats::TensorWriter::gguf(path, {}, metadata_).value();
    EXPECT_TRUE(writer.finish());
    return read_gguf_config(Gguf::open(path).value());
  }
  model::ModelConfig config() const {
    const auto config = read();
    EXPECT_TRUE(config) << to_string(config.error());
    return config.value_or(model::ModelConfig{});
  }
  std::string error() const {
    const auto config = read();
    return config ? "" : to_string(config.error()).substr(folder_.file("model.gguf: ").size());
  }

  formats::testing::ScratchFolder folder_;
  GgufMetadata metadata_;
};

TEST_F(GgufConfigKeys, left_out_have_the_values_of_llama_cpp) {
  const model::ModelConfig model = config();
  const auto attention = std::get<model::GroupedQueryConfig>(model.attention);
  EXPECT_EQ(model.family, "qwen3");
  EXPECT_EQ(attention.head_size, 8) << "embedding_length / head_count";
  EXPECT_EQ(attention.query_key_norm, model::QueryKeyNorm::head);
  EXPECT_FALSE(attention.qkv_bias) << "no such tensors";
  EXPECT_EQ(model.rope, (model::RopeConfig{.size = 8, .base = 10000}));
  EXPECT_EQ(model.norm_eps, 0.001F);
  EXPECT_TRUE(model.tied_head) << "no output.weight";
  EXPECT_TRUE(model.eos.empty());
}

TEST_F(GgufConfigKeys, heads_may_have_a_size_of_their_own) {
  set("qwen3.attention.key_length", std::uint32_t{16});
  set("qwen3.attention.value_length", std::uint32_t{16});
  set("qwen3.rope.freq_base", 1e6F);
  const model::ModelConfig model = config();
  EXPECT_EQ(std::get<model::GroupedQueryConfig>(model.attention).head_size, 16);
  EXPECT_EQ(model.attention_scale, 0.25F);
  EXPECT_EQ(model.rope, (model::RopeConfig{.size = 16, .base = 1e6}));
}

TEST_F(GgufConfigKeys, the_vocabulary_may_be_counted) {
  metadata_.erase("qwen3.vocab_size");
  set("tokenizer.ggml.tokens", formats::GgufArray(GgufTexts{"a", "b", "c"}));
  EXPECT_EQ(config().vocabulary_size, 3);
}

TEST_F(GgufConfigKeys, tokens_that_end_a_text_or_a_turn) {
  set("tokenizer.ggml.eos_token_id", std::uint32_t{5});
  EXPECT_EQ(config().eos, (std::vector<std::uint32_t>{5}));
  set("tokenizer.ggml.eot_token_id", std::uint32_t{7});
  set("tokenizer.ggml.eom_token_id", std::uint32_t{6});
  EXPECT_EQ(config().eos, (std::vector<std::uint32_t>{5, 7, 6}));
  metadata_.erase("tokenizer.ggml.eom_token_id");
  set("tokenizer.ggml.eot_token_id", std::uint32_t{5});
  EXPECT_EQ(config().eos, (std::vector<std::uint32_t>{5}));
  set("tokenizer.ggml.eot_token_id", -1);
  EXPECT_EQ(error(),
            "tokenizer.ggml.eot_token_id is i32 -1; accepted is an integer, 0 .. 4294967295");
}

TEST_F(GgufConfigKeys, yarn_multiplies_its_temperature_in) {
  set("qwen3.rope.scaling.type", std::string_view("yarn"));
  set("qwen3.rope.scaling.factor", 4.0F);
  set("qwen3.rope.scaling.original_context_length", std::uint32_t{1024});
  EXPECT_EQ(
      config().rope.scaling,
      model::RopeScaling(model::YarnRope{
          .factor = 4, .original_positions = 1024, .attention_factor = 0.1 * std::log(4.0) + 1}));
}

TEST_F(GgufConfigKeys, linear_scaling_in_both_spellings) {
  set("qwen3.rope.scale_linear", 2.0F);
  EXPECT_EQ(config().rope.scaling, model::RopeScaling(model::LinearRope{2}));
  set("qwen3.rope.scaling.type", std::string_view("linear"));
  set("qwen3.rope.scaling.factor", 4.0F);
  EXPECT_EQ(config().rope.scaling, model::RopeScaling(model::LinearRope{4}));
  set("qwen3.rope.scaling.type", std::string_view("longrope"));
  EXPECT_EQ(error(),
            "qwen3.rope.scaling.type is text 'longrope'; accepted is 'none', 'linear', 'yarn', "
            "or 'longrope' with its tables");
}

TEST_F(GgufConfigKeys, experts) {
  rename("qwen3moe");
  set("qwen3moe.expert_count", std::uint32_t{8});
  set("qwen3moe.expert_used_count", std::uint32_t{2});
  set("qwen3moe.expert_feed_forward_length", std::uint32_t{12});
  const model::ModelConfig model = config();
  model::ExpertsConfig expected{.experts = 8, .experts_per_token = 2, .expert_size = 12};
  expected.normalized = true;
  expected.dense_layers = {false, false};
  EXPECT_EQ(model.experts, expected);
  EXPECT_EQ(model.family, "qwen3_moe");
  EXPECT_EQ(model.ffn_size, 0);
}

TEST_F(GgufConfigKeys, norms_of_olmo2_are_after_the_layers_and_of_whole_rows) {
  rename("olmo2");
  model::ModelConfig model = config();
  EXPECT_EQ(model.family, "olmo2");
  EXPECT_EQ(model.norm, model::NormPlacement::after);
  EXPECT_EQ(model.rope.pairing, model::RopePairing::halves);
  EXPECT_EQ(std::get<model::GroupedQueryConfig>(model.attention).query_key_norm,
            model::QueryKeyNorm::row);
  set("olmo2.attention.sliding_window", std::uint32_t{4096});
  set("olmo2.block_count", std::uint32_t{5});
  model = config();
  EXPECT_EQ(model.family, "olmo3");
  EXPECT_EQ(std::get<model::GroupedQueryConfig>(model.attention).full_layers,
            (std::vector<bool>{false, false, false, true, false}));
}

TEST_F(GgufConfigKeys, multipliers_of_granite) {
  rename("granite");
  EXPECT_EQ(error(), "granite.logit_scale is missing; accepted is a number, 1e-06 .. 1e+06");
  set("granite.logit_scale", 8.0F);
  model::ModelConfig model = config();
  EXPECT_EQ(model.family, "granite");
  EXPECT_EQ(model.rope.pairing, model::RopePairing::adjacent);
  EXPECT_EQ(model.logits_divisor, 8);
  EXPECT_EQ(model.embedding_multiplier, 1);
  EXPECT_EQ(model.residual_multiplier, 1);
  EXPECT_FLOAT_EQ(model.attention_scale, 1 / std::sqrt(8.0F)) << "as other families have it";
  set("granite.embedding_scale", 12.0F);
  set("granite.residual_scale", 0.25F);
  set("granite.attention.scale", 0.0625F);
  model = config();
  EXPECT_EQ(model.embedding_multiplier, 12);
  EXPECT_EQ(model.residual_multiplier, 0.25F);
  EXPECT_EQ(model.attention_scale, 0.0625F);
  set("granite.rope.scaling.finetuned", false);
  EXPECT_EQ(error(), "granite.rope.scaling.finetuned is boolean false; accepted is true");
}

TEST_F(GgufConfigKeys, errors_name_key_value_and_range) {
  set("qwen3.block_count", std::uint32_t{0});
  EXPECT_EQ(error(), "qwen3.block_count is u32 0; accepted is an integer, 1 .. 1024");
  set("qwen3.block_count", std::uint32_t{4'000'000'000});
  EXPECT_EQ(error(), "qwen3.block_count is u32 4000000000; accepted is an integer, 1 .. 1024");
  set("qwen3.block_count", std::string_view("2"));
  EXPECT_EQ(error(), "qwen3.block_count is text '2'; accepted is an integer, 1 .. 1024");
  metadata_.erase("qwen3.block_count");
  EXPECT_EQ(error(), "qwen3.block_count is missing; accepted is an integer, 1 .. 1024");
}

TEST_F(GgufConfigKeys, numbers_that_are_none_are_refused) {
  for (const float value : {NAN, INFINITY, -1.0F, 2.0F}) {
    set("qwen3.attention.layer_norm_rms_epsilon", value);
    EXPECT_TRUE(error().starts_with("qwen3.attention.layer_norm_rms_epsilon is f32 ")) << value;
    EXPECT_TRUE(error().ends_with("; accepted is a number, 0 .. 1")) << error();
  }
}

TEST_F(GgufConfigKeys, heads_that_do_not_fit) {
  set("qwen3.attention.head_count_kv", std::uint32_t{3});
  EXPECT_EQ(error(),
            "qwen3.attention.head_count is 4; accepted is a multiple of "
            "qwen3.attention.head_count_kv, 3");
  set("qwen3.attention.head_count_kv", std::uint32_t{0});
  EXPECT_EQ(error(), "qwen3.attention.head_count_kv is u32 0; accepted is an integer, 1 .. 1024");
  set("qwen3.attention.head_count_kv", std::uint32_t{1});
  set("qwen3.attention.head_count", std::uint32_t{5});
  EXPECT_EQ(error(),
            "qwen3.attention.key_length is missing; accepted is an integer, as embedding_length is "
            "no multiple of attention.head_count");
}

TEST_F(GgufConfigKeys, other_architectures_are_refused) {
  rename("gpt2");
  const std::string known =
      "'llama', 'qwen2', 'qwen3', 'qwen3moe', 'gpt-oss', 'qwen2moe', 'smollm3', 'phi3', "
      "'deepseek2', "
      "'olmo2', 'glm4', 'gemma2', 'gemma3', 'granite'";
  EXPECT_EQ(error(), "general.architecture is text 'gpt2'; accepted is " + known);
  metadata_.erase("general.architecture");
  EXPECT_EQ(error(), "general.architecture is missing; accepted is " + known);
}

TEST_F(GgufConfigKeys, a_llama_of_experts_is_a_mixtral) {
  rename("llama");
  set("llama.expert_count", std::uint32_t{8});
  EXPECT_EQ(error(), "llama.expert_used_count is missing; accepted is an integer, 1 .. 1024");
  set("llama.expert_used_count", std::uint32_t{2});
  const model::ModelConfig model = config();
  EXPECT_EQ(model.family, "mixtral");
  EXPECT_TRUE(model.experts->normalized);
  EXPECT_EQ(model.ffn_size, 0);
}

TEST_F(GgufConfigKeys, layers_without_a_window) {
  const auto attention = [&] { return std::get<model::GroupedQueryConfig>(config().attention); };
  set("qwen3.attention.sliding_window", std::uint32_t{20});
  EXPECT_EQ(attention().full_layers, std::vector<bool>());
  const std::int32_t layers[] = {1, 0};
  const auto bytes = std::as_bytes(std::span(layers));
  set("qwen3.attention.sliding_window_pattern",
      formats::GgufArray(formats::GgufNumbers(formats::GgufType::i32, bytes)));
  EXPECT_EQ(attention().full_layers, (std::vector<bool>{false, true}));
  EXPECT_EQ(attention().sliding_window, 20);
  set("qwen3.attention.sliding_window_pattern",
      formats::GgufArray(formats::GgufNumbers(formats::GgufType::i32, bytes.first(4))));
  EXPECT_EQ(error(),
            "qwen3.attention.sliding_window_pattern is array of 1 i32; accepted is an array of 2 "
            "integers or booleans, one a layer");
}

}  // namespace
}  // namespace forge::checkpoint
