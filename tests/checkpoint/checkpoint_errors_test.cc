// What does not fit between a config.json and its tensors.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/checkpoint.h"
#include "forge/formats/tensor_writer.h"

namespace forge::checkpoint {
namespace {

using formats::ElementType;
using testing::EditableCheckpoint;
using testing::floats;
using testing::numbers;

constexpr const char* kFile = "model.safetensors: tensor ";

class CheckpointErrors : public ::testing::Test {
 protected:
  EditableCheckpoint llama_ = EditableCheckpoint::of("llama");
};

TEST_F(CheckpointErrors, the_unchanged_checkpoint_has_none) { EXPECT_EQ(llama_.error(), ""); }

TEST_F(CheckpointErrors, a_missing_tensor) {
  llama_.tensors.erase("model.layers.1.mlp.up_proj.weight");
  EXPECT_EQ(llama_.error(), std::string(kFile) +
                                "'model.layers.1.mlp.up_proj.weight': is missing; "
                                "needed is [64, 32]");
}

TEST_F(CheckpointErrors, a_quantized_layer_of_which_the_configuration_says_nothing) {
  const std::string name = "model.layers.1.mlp.up_proj";
  llama_.tensors.erase(name + ".weight");
  llama_.tensors[name + ".qweight"] =
      numbers(ElementType::i32, {4, 64}, std::vector<std::int32_t>(256));
  EXPECT_EQ(llama_.error(), std::string(kFile) +
                                "'model.layers.1.mlp.up_proj.weight': is missing; needed is "
                                "[64, 32], or a quantization_config in config.json that says how "
                                "its qweight is stored (a quantize_config.json of AutoGPTQ is not "
                                "read)");
}

TEST_F(CheckpointErrors, a_file_without_tensors_is_named) {
  llama_.tensors.clear();
  EXPECT_EQ(llama_.error(),
            std::string(kFile) + "'model.embed_tokens.weight': is missing; needed is [96, 32]");
}

TEST_F(CheckpointErrors, a_link_to_nothing_is_said_to_be_one) {
  const formats::testing::ScratchFolder folder;
  llama_.write(folder);
  const std::string path = folder.file("model.safetensors");
  std::filesystem::remove(path);
  std::filesystem::create_symlink("../../blobs/0a1b2c", path);
  EXPECT_EQ(to_string(Checkpoint::open(folder.path()).error()),
            path + ": is a link to '../../blobs/0a1b2c', where there is no file");
}

TEST_F(CheckpointErrors, a_missing_norm) {
  llama_.tensors.erase("model.norm.weight");
  EXPECT_EQ(llama_.error(), std::string(kFile) +
                                "'model.norm.weight': is missing; needed is F32, "
                                "F16 or BF16 [32]");
}

TEST_F(CheckpointErrors, more_layers_than_the_file_has) {
  llama_.config["num_hidden_layers"] = 1024;
  EXPECT_EQ(llama_.error(), std::string(kFile) +
                                "'model.layers.3.input_layernorm.weight': is missing; needed is "
                                "F32, F16 or BF16 [32]");
}

TEST_F(CheckpointErrors, fewer_layers_than_the_file_has_are_tensors_that_are_unused) {
  llama_.config["num_hidden_layers"] = 2;
  const formats::testing::ScratchFolder folder;
  llama_.write(folder);
  const Checkpoint checkpoint = Checkpoint::open(folder.path()).value();
  ASSERT_EQ(checkpoint.unused().size(), 9u);
  EXPECT_EQ(checkpoint.unused().front(), "model.layers.2.input_layernorm.weight");
  ASSERT_EQ(checkpoint.notes().size(), 1u);
  EXPECT_EQ(checkpoint.notes().front(),
            "9 tensors of layers after the last of 2, as of heads that predict several tokens, are "
            "not used: the first is 'model.layers.2.input_layernorm.weight'");
}

TEST_F(CheckpointErrors, tables_that_runtimes_compute_are_not_reported) {
  llama_.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = floats({2}, {1, 2});
  llama_.tensors["vision.patch.weight"] = floats({2}, {1, 2});
  const formats::testing::ScratchFolder folder;
  llama_.write(folder);
  const Checkpoint checkpoint = Checkpoint::open(folder.path()).value();
  ASSERT_EQ(checkpoint.unused().size(), 1u);
  EXPECT_EQ(checkpoint.unused().front(), "vision.patch.weight");
  ASSERT_EQ(checkpoint.notes().size(), 1u);
  EXPECT_EQ(checkpoint.notes().front(),
            "1 tensor that no part of the model has a use for: the first is 'vision.patch.weight'");
}

TEST_F(CheckpointErrors, a_scaling_without_a_type_is_none_and_said) {
  llama_.config["rope_scaling"] = {{"factor", 4}};
  llama_.config.erase("rope_parameters");
  const formats::testing::ScratchFolder folder;
  llama_.write(folder);
  const Checkpoint checkpoint = Checkpoint::open(folder.path()).value();
  ASSERT_EQ(checkpoint.notes().size(), 1u);
  EXPECT_EQ(
      checkpoint.notes().front(),
      "config.json scales RoPE by a factor and does not say how (rope_type): it is not scaled");
}

/// Matrices that share a tensor have their own rows of it.
TEST_F(CheckpointErrors, of_fused_projections_name_the_tensor_and_its_rows) {
  EditableCheckpoint phi = EditableCheckpoint::of("phi3");
  phi.config["num_key_value_heads"] = 5;
  EXPECT_EQ(phi.error(),
            std::string(kFile) +
                "'model.layers.0.self_attn.qkv_proj.weight': is F32[56, 40]; needed is "
                "a type of weights, [120, 40]");
}

TEST(CheckpointNotes, say_what_is_assumed) {
  const auto notes = [](const char* name) {
    const Checkpoint checkpoint = testing::opened(testing::golden(name));
    return std::vector<std::string>(checkpoint.notes().begin(), checkpoint.notes().end());
  };
  EXPECT_EQ(notes("llama"), std::vector<std::string>());
  EXPECT_EQ(notes("deepseek_v3/model.gguf"), std::vector<std::string>());
  EXPECT_EQ(notes("llama_dynamic"),
            std::vector<std::string>{
                "dynamic scaling of RoPE changes nothing within the context of 192"});
  EXPECT_EQ(notes("phi3_long"),
            std::vector<std::string>{"LongRoPE has its long factors for every text, as the context "
                                     "is 192, trained for 48"});
}

TEST_F(CheckpointErrors, another_shape) {
  llama_.config["intermediate_size"] = 65;
  EXPECT_EQ(llama_.error(), std::string(kFile) +
                                "'model.layers.0.mlp.gate_proj.weight': is F32[64, 32]; needed is "
                                "a type of weights, [65, 32]");
}

TEST_F(CheckpointErrors, another_rank) {
  llama_.tensors["model.norm.weight"].shape = {1, 32};
  EXPECT_EQ(llama_.error(), std::string(kFile) +
                                "'model.norm.weight': is F32[1, 32]; needed is "
                                "F32, F16 or BF16 [32]");
}

TEST_F(CheckpointErrors, another_type) {
  llama_.tensors["lm_head.weight"].type = ElementType::i32;
  EXPECT_EQ(llama_.error(), std::string(kFile) +
                                "'lm_head.weight': is I32[96, 32]; needed is a "
                                "type of weights, [96, 32]");
  llama_ = EditableCheckpoint::of("llama");
  llama_.tensors["model.norm.weight"].type = ElementType::i32;
  EXPECT_EQ(llama_.error(), std::string(kFile) +
                                "'model.norm.weight': is I32[32]; needed is F32, "
                                "F16 or BF16 [32]");
}

TEST_F(CheckpointErrors, absurd_numbers_of_experts_end_at_the_first_that_is_missing) {
  EditableCheckpoint moe = EditableCheckpoint::of("qwen3_moe");
  moe.config["num_local_experts"] = 1024;
  EXPECT_EQ(moe.error(), std::string(kFile) +
                             "'model.layers.1.mlp.gate.weight': is F32[8, 32]; "
                             "needed is a type of weights, [1024, 32]");
  moe.tensors["model.layers.1.mlp.gate.weight"] = floats({1024, 32}, std::vector<float>(1024 * 32));
  EXPECT_EQ(moe.error(), std::string(kFile) +
                             "'model.layers.1.mlp.experts.8.gate_proj.weight': is missing; needed "
                             "is [12, 32]");
}

TEST_F(CheckpointErrors, an_error_in_gguf_has_the_names_of_gguf) {
  const auto gguf = formats::Gguf::open(testing::golden("llama") + "/model.gguf").value();
  const formats::testing::ScratchFolder folder;
  const std::string path = folder.file("model.gguf");
  std::vector<formats::TensorSpec> specs;
  for (const formats::Tensor& tensor : gguf.tensors()) {
    if (tensor.name != "blk.2.attn_output.weight") {
      specs.push_back({tensor.name, tensor.type, tensor.shape});
    }
  }
  auto writer = formats::TensorWriter::gguf(path, specs, gguf.metadata()).value();
  for (const formats::TensorSpec& spec : specs) {
    ASSERT_TRUE(writer.write(gguf.find(spec.name)->bytes));
  }
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(to_string(Checkpoint::open(path).error()),
            path + ": tensor 'blk.2.attn_output.weight': is missing; needed is [32, 32]");
}

}  // namespace
}  // namespace forge::checkpoint
