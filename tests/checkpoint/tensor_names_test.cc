#include "forge/checkpoint/tensor_names.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "forge/checkpoint/checkpoint.h"
#include "forge/model/stored_shapes.h"
#include "forge/model/weight_roles.h"

namespace forge::checkpoint {
namespace {

/// A dense model; with norms after the sub-layers; of latents, whose queries have one or have none.
const model::ModelConfig kDense = {.attention = model::GroupedQueryConfig()};
const model::ModelConfig kNormsAfterwards = {.norm = model::NormPlacement::after,
                                             .attention = model::GroupedQueryConfig()};
const model::ModelConfig kLatents = {.attention = model::LatentConfig{.heads = 5, .query_rank = 8}};
const model::ModelConfig kLatentsLite = {.attention = model::LatentConfig{.heads = 5}};
const model::ModelConfig kExperts = {.attention = model::GroupedQueryConfig(),
                                     .experts = model::ExpertsConfig{.experts = 64}};

std::string hf(const model::ModelConfig& config, const std::string& role) {
  return tensor_name(role, config, ModelFormat::safetensors).value_or(TensorName{}).name;
}

std::string gguf(const model::ModelConfig& config, const std::string& role) {
  return tensor_name(role, config, ModelFormat::gguf).value_or(TensorName{}).name;
}

TEST(TensorNames, weights_of_a_layer) {
  EXPECT_EQ(hf(kDense, "layers.3.attention.query"), "model.layers.3.self_attn.q_proj.weight");
  EXPECT_EQ(gguf(kDense, "layers.3.attention.query"), "blk.3.attn_q.weight");
  EXPECT_EQ(hf(kDense, "layers.31.attention.key_bias"), "model.layers.31.self_attn.k_proj.bias");
  EXPECT_EQ(gguf(kDense, "layers.31.attention.key_bias"), "blk.31.attn_k.bias");
}

TEST(TensorNames, weights_of_the_model) {
  EXPECT_EQ(hf(kDense, "embedding"), "model.embed_tokens.weight");
  EXPECT_EQ(gguf(kDense, "embedding"), "token_embd.weight");
  EXPECT_EQ(gguf(kDense, "final_norm"), "output_norm.weight");
  EXPECT_EQ(gguf(kDense, "head"), "output.weight");
}

TEST(TensorNames, norms_are_called_after_what_they_follow) {
  const std::string attention_norm = "layers.0.attention_norm";
  const std::string mlp_norm = "layers.0.ffn_norm";
  EXPECT_EQ(hf(kDense, mlp_norm), "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(hf(kNormsAfterwards, attention_norm), hf(kDense, mlp_norm));
  EXPECT_EQ(gguf(kDense, mlp_norm), "blk.0.ffn_norm.weight");
  EXPECT_EQ(gguf(kNormsAfterwards, attention_norm), "blk.0.post_attention_norm.weight");
  EXPECT_EQ(gguf(kNormsAfterwards, mlp_norm), "blk.0.post_ffw_norm.weight");
}

TEST(TensorNames, experts_are_matrices_of_a_stack) {
  const std::string role = "layers.3.feed_forward.experts.7.down";
  EXPECT_EQ(hf(kExperts, role), "model.layers.3.mlp.experts.7.down_proj.weight");
  EXPECT_EQ(tensor_name(role, kExperts, ModelFormat::gguf),
            (TensorName{"blk.3.ffn_down_exps.weight", StackPlace{7, 64}}));
  EXPECT_EQ(gguf(kExperts, "layers.3.feed_forward.router"), "blk.3.ffn_gate_inp.weight");
  EXPECT_EQ(gguf(kExperts, "layers.3.feed_forward.shared.up"), "blk.3.ffn_up_shexp.weight");
}

TEST(TensorNames, a_correction_bias_is_a_bias_in_one_of_them_only) {
  const std::string role = "layers.3.feed_forward.correction_bias";
  EXPECT_EQ(gguf(kExperts, role), "blk.3.exp_probs_b.bias");
  EXPECT_EQ(hf(kExperts, role), "model.layers.3.mlp.gate.e_score_correction_bias");
}

TEST(TensorNames, latent_attention) {
  EXPECT_EQ(hf(kLatents, "layers.1.attention.query_up"),
            "model.layers.1.self_attn.q_b_proj.weight");
  EXPECT_EQ(hf(kLatentsLite, "layers.1.attention.query_up"),
            "model.layers.1.self_attn.q_proj.weight");
  EXPECT_EQ(gguf(kLatentsLite, "layers.1.attention.query_up"), "blk.1.attn_q.weight");
  EXPECT_EQ(gguf(kLatents, "layers.1.attention.kv_down"), "blk.1.attn_kv_a_mqa.weight");
  EXPECT_EQ(tensor_name("layers.1.attention.key_up.4", kLatents, ModelFormat::gguf),
            (TensorName{"blk.1.attn_k_b.weight", StackPlace{4, 5}}));
  EXPECT_EQ(hf(kLatents, "layers.1.attention.key_up.4"), "") << "is in kv_b_proj";
}

TEST(TensorNames, roles_that_a_model_does_not_have) {
  for (const char* const role :
       {"", "layers", "layers.0", "layers.0.attention", "layers.0.attention.kv_up", "layers.x",
        "attention.query", "model.layers.3.self_attn.q_proj.weight"}) {
    EXPECT_EQ(gguf(kDense, role), "") << role;
    EXPECT_EQ(hf(kDense, role), "") << role;
  }
}

/// All tensors of a model that has no weights, in each of its forms.
std::set<std::string> names_of(const model::ModelConfig& config, ModelFormat format,
                               model::LatentLayout layout) {
  std::set<std::pair<std::string, int>> all;
  std::set<std::string> names;
  const auto add = [&](const std::string& role, const auto&) {
    const auto name = tensor_name(role, config, format);
    ASSERT_TRUE(name) << role;
    const StepPlace steps = name->steps.value_or(StepPlace{});
    const int index = name->place ? name->place->index * steps.step + steps.first
                                  : name->rows.value_or(RowPlace{}).first;
    EXPECT_TRUE(all.emplace(name->name, index).second) << name->name;
    names.insert(name->name);
  };
  const model::StoredModel shapes = model_shapes(config, layout);
  for_each_weight(shapes, add, add);
  return names;
}

TEST(TensorNames, are_those_that_golden_models_have) {
  int files = 0;
  for (const auto& folder : std::filesystem::directory_iterator(FORGE_GOLDEN_MODELS)) {
    if (!folder.is_directory()) continue;
    for (const std::string& path :
         {folder.path().string(), folder.path().string() + "/model.gguf"}) {
      if (!std::filesystem::exists(path)) continue;
      const TensorFile file = TensorFile::open(path).value();
      std::set<std::string> expected;
      for (const formats::Tensor& tensor : file.tensors()) {
        const std::string& name = tensor.name;  // without the _blocks and _scales of MXFP4
        const bool is_part = name.ends_with("_blocks") || name.ends_with("_scales");
        expected.insert(is_part ? name.substr(0, name.rfind('_')) : name);
      }
      expected.erase("rope_freqs.weight");
      const bool by_heads = expected.contains("blk.0.attn_k_b.weight");
      EXPECT_EQ(names_of(Checkpoint::open(path).value().config(), file.format(),
                         by_heads ? model::LatentLayout::by_heads : model::LatentLayout::whole),
                expected)
          << path;
      ++files;
    }
  }
  EXPECT_EQ(files, 31 + 7);
}

RC_GTEST_PROP(TensorNames, any_role_is_answered, ()) {
  const auto piece = rc::gen::element<std::string>("layers", "1", "999999", ".", "attention",
                                                   "experts", "gate", "kv_up", "\xff");
  std::string role;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(piece)) role += part;
  for (const auto& config : {kDense, kLatents, kExperts}) {
    const auto name = tensor_name(role, config, ModelFormat::gguf);
    if (name) RC_ASSERT(!name->name.empty());
  }
}

}  // namespace
}  // namespace forge::checkpoint
