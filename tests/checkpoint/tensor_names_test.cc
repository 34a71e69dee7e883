#include "forge/checkpoint/tensor_names.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "checkpoint/checkpoint_edit.h"
#include "forge/formats/gguf.h"
#include "forge/formats/safetensors.h"

namespace forge::checkpoint {
namespace {

using testing::golden;

TEST(TensorNames, weights_of_a_layer) {
  EXPECT_EQ(gguf_name("model.layers.3.self_attn.q_proj.weight"),
            (GgufName{"blk.3.attn_q.weight", std::nullopt}));
  EXPECT_EQ(gguf_name("model.layers.31.self_attn.k_proj.bias"),
            (GgufName{"blk.31.attn_k.bias", std::nullopt}));
  EXPECT_EQ(gguf_name("model.layers.0.post_attention_layernorm.weight"),
            (GgufName{"blk.0.ffn_norm.weight", std::nullopt}));
}

TEST(TensorNames, weights_of_the_model) {
  EXPECT_EQ(gguf_name("model.embed_tokens.weight"), (GgufName{"token_embd.weight", std::nullopt}));
  EXPECT_EQ(gguf_name("model.norm.weight"), (GgufName{"output_norm.weight", std::nullopt}));
  EXPECT_EQ(gguf_name("lm_head.weight"), (GgufName{"output.weight", std::nullopt}));
}

TEST(TensorNames, experts_are_matrices_of_a_stack) {
  EXPECT_EQ(gguf_name("model.layers.3.mlp.experts.7.down_proj.weight"),
            (GgufName{"blk.3.ffn_down_exps.weight", 7}));
  EXPECT_EQ(gguf_name("model.layers.3.mlp.gate.weight"),
            (GgufName{"blk.3.ffn_gate_inp.weight", std::nullopt}));
}

TEST(TensorNames, latent_attention_and_shared_experts) {
  EXPECT_EQ(gguf_name("model.layers.3.self_attn.kv_a_proj_with_mqa.weight"),
            (GgufName{"blk.3.attn_kv_a_mqa.weight", std::nullopt}));
  EXPECT_EQ(gguf_name("model.layers.3.mlp.shared_experts.up_proj.weight"),
            (GgufName{"blk.3.ffn_up_shexp.weight", std::nullopt}));
}

TEST(TensorNames, a_correction_bias_is_a_bias_in_one_of_them_only) {
  const GgufName bias{"blk.3.exp_probs_b.bias", std::nullopt};
  EXPECT_EQ(gguf_name("model.layers.3.mlp.gate.e_score_correction_bias"), bias);
  EXPECT_EQ(hf_name(bias), "model.layers.3.mlp.gate.e_score_correction_bias");
  EXPECT_EQ(hf_name({"blk.3.exp_probs_b.weight", std::nullopt}), std::nullopt);
  EXPECT_EQ(hf_name({"blk.3.exp_probs_b.bias", 2}), std::nullopt) << "no stack";
}

TEST(TensorNames, other_names_have_no_counterpart) {
  for (const char* const name :
       {"", "model", "model.norm", "model.layers.weight", "model.layers..mlp.up_proj.weight",
        "model.layers.x.mlp.up_proj.weight", "model.layers.01.mlp.up_proj.weight",
        "model.layers.1234567.mlp.up_proj.weight", "model.layers.-1.mlp.up_proj.weight",
        "model.layers.1.mlp.up_proj.qweight", "model.layers.1.mlp.experts.up_proj.weight",
        "model.layers.1.mlp.experts.2.gate.weight", "blk.1.attn_q.weight"}) {
    EXPECT_EQ(gguf_name(name), std::nullopt) << name;
  }
  for (const char* const name : {"", "blk.1", "blk.1.weight", "blk.01.attn_q.weight",
                                 "blk.1.ffn_up_exps.weight", "rope_freqs.weight"}) {
    EXPECT_EQ(hf_name({name, std::nullopt}), std::nullopt) << name;
  }
  EXPECT_EQ(hf_name({"blk.1.attn_q.weight", 2}), std::nullopt) << "no stack";
  EXPECT_EQ(hf_name({"output.weight", 2}), std::nullopt) << "no stack";
}

TEST(TensorNames, a_converted_model_has_the_tensors_of_its_checkpoint) {
  for (const char* const model : {"llama", "qwen2"}) {
    const auto hf = formats::SafeTensors::open_directory(golden(model)).value();
    const auto gguf = formats::Gguf::open(golden(model) + "/model.gguf").value();
    ASSERT_EQ(hf.tensors().size(), gguf.tensors().size());
    for (const formats::Tensor& tensor : gguf.tensors()) {
      const auto name = hf_name({tensor.name, std::nullopt});
      ASSERT_TRUE(name) << tensor.name;
      ASSERT_NE(hf.find(*name), nullptr) << *name;
      EXPECT_EQ(hf.find(*name)->shape, tensor.shape) << *name;
      EXPECT_EQ(gguf_name(*name), (GgufName{tensor.name, std::nullopt}));
    }
  }
}

RC_GTEST_PROP(TensorNames, names_come_back, ()) {
  const std::string layer = std::to_string(*rc::gen::inRange(0, 1000000));
  const std::string expert = std::to_string(*rc::gen::inRange(0, 1000000));
  const auto role = *rc::gen::element<std::string>(
      "input_layernorm", "post_attention_layernorm", "self_attn.q_proj", "self_attn.k_proj",
      "self_attn.v_proj", "self_attn.o_proj", "self_attn.q_norm", "self_attn.k_norm",
      "self_attn.q_a_proj", "self_attn.q_a_layernorm", "self_attn.q_b_proj",
      "self_attn.kv_a_proj_with_mqa", "self_attn.kv_a_layernorm", "self_attn.kv_b_proj",
      "self_attn.k_b_proj", "self_attn.v_b_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
      "mlp.gate", "mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj",
      "mlp.shared_experts.down_proj", "mlp.experts." + expert + ".gate_proj",
      "mlp.experts." + expert + ".up_proj", "mlp.experts." + expert + ".down_proj");
  const auto suffix = *rc::gen::element<std::string>(".weight", ".bias");
  const std::string name = "model.layers." + layer + "." + role + suffix;
  const auto renamed = gguf_name(name);
  RC_ASSERT(renamed.has_value());
  RC_ASSERT(hf_name(*renamed) == name);
}

RC_GTEST_PROP(TensorNames, any_text_is_answered, ()) {
  const auto piece = rc::gen::element<std::string>("model.layers.", "blk.", "1", "99999999", ".",
                                                   "mlp.experts.", "gate_proj", "ffn_up_exps",
                                                   "exp_probs_b", ".weight", ".bias", "\xff");
  std::string name;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(piece)) name += part;
  if (const auto renamed = gguf_name(name)) RC_ASSERT(hf_name(*renamed) == name);
}

}  // namespace
}  // namespace forge::checkpoint
