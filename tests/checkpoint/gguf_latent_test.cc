// GGUF files of DeepSeek's models, in both layouts that there are: V2-Lite has the up-projection
// of keys and values in one matrix, V3 by heads. And what is wrong with files like them.
#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/checkpoint.h"

namespace forge::checkpoint {
namespace {

using linear::StoredLinear;
using testing::EditableGguf;
using testing::floats;
using testing::golden;

Checkpoint opened(const std::string& path) {
  auto checkpoint = Checkpoint::open(path);
  EXPECT_TRUE(checkpoint) << to_string(checkpoint.error());
  return *std::move(checkpoint);
}

std::vector<std::vector<float>> rows_of(const StoredLinear& matrix) {
  std::vector<std::vector<float>> out(static_cast<std::size_t>(matrix.outputs));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].resize(static_cast<std::size_t>(matrix.inputs));
    stored_row(matrix, static_cast<int>(i), out[i].data());
  }
  return out;
}

void expect_same(const model::StoredMlp& a, const model::StoredMlp& b) {
  EXPECT_EQ(rows_of(a.gate), rows_of(b.gate));
  EXPECT_EQ(rows_of(a.up), rows_of(b.up));
  EXPECT_EQ(rows_of(a.down), rows_of(b.down));
}

void expect_same(const model::StoredExperts& a, const model::StoredExperts& b) {
  EXPECT_EQ(rows_of(a.router), rows_of(b.router));
  EXPECT_EQ(a.correction_bias, b.correction_bias);
  ASSERT_EQ(a.experts.size(), b.experts.size());
  for (std::size_t i = 0; i < a.experts.size(); ++i) expect_same(a.experts[i], b.experts[i]);
  expect_same(*a.shared, *b.shared);
}

/// All but the up-projection of keys and values.
void expect_same(const model::StoredLatent& a, const model::StoredLatent& b) {
  ASSERT_EQ(a.query_down.has_value(), b.query_down.has_value());
  if (a.query_down) {
    EXPECT_EQ(rows_of(*a.query_down), rows_of(*b.query_down));
  }
  EXPECT_EQ(a.query_norm, b.query_norm);
  EXPECT_EQ(rows_of(a.query_up), rows_of(b.query_up));
  EXPECT_EQ(rows_of(a.kv_down), rows_of(b.kv_down));
  EXPECT_EQ(a.kv_norm, b.kv_norm);
  EXPECT_EQ(rows_of(a.output), rows_of(b.output));
}

void expect_same(const model::StoredLayer& a, const model::StoredLayer& b) {
  EXPECT_EQ(a.attention_norm, b.attention_norm);
  EXPECT_EQ(a.mlp_norm, b.mlp_norm);
  expect_same(std::get<model::StoredLatent>(a.attention),
              std::get<model::StoredLatent>(b.attention));
  ASSERT_EQ(a.mlp.index(), b.mlp.index());
  std::visit(
      [&](const auto& mlp) { expect_same(mlp, std::get<std::decay_t<decltype(mlp)>>(b.mlp)); },
      a.mlp);
}

class GgufLatent : public ::testing::TestWithParam<const char*> {};

TEST_P(GgufLatent, is_its_checkpoint) {
  const Checkpoint checkpoint = opened(golden(GetParam()));
  const Checkpoint gguf = opened(golden(GetParam()) + std::string("/model.gguf"));
  model::ModelConfig expected = checkpoint.config();
  // The file has 0.1 mscale_all_dim rounded to a float.
  EXPECT_FLOAT_EQ(gguf.config().attention_scale, expected.attention_scale);
  expected.attention_scale = gguf.config().attention_scale;
  EXPECT_EQ(gguf.config(), expected);

  EXPECT_TRUE(gguf.unused().empty()) << gguf.unused().front();
  EXPECT_EQ(rows_of(gguf.model().embedding), rows_of(checkpoint.model().embedding));
  EXPECT_EQ(rows_of(*gguf.model().head), rows_of(*checkpoint.model().head));
  ASSERT_EQ(gguf.model().layers.size(), checkpoint.model().layers.size());
  for (std::size_t i = 0; i < gguf.model().layers.size(); ++i) {
    expect_same(gguf.model().layers[i], checkpoint.model().layers[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GgufLatent, ::testing::Values("deepseek_v2_lite", "deepseek_v3"));

const model::StoredLatent& latent(const Checkpoint& checkpoint) {
  return std::get<model::StoredLatent>(checkpoint.model().layers[1].attention);
}

TEST(GgufLatentLayout, older_files_have_keys_and_values_in_one_matrix) {
  const Checkpoint gguf = opened(golden("deepseek_v2_lite") + "/model.gguf");
  EXPECT_EQ(rows_of(latent(gguf).kv_up), rows_of(latent(opened(golden("deepseek_v2_lite"))).kv_up));
  EXPECT_TRUE(latent(gguf).key_up.empty());
  EXPECT_TRUE(latent(gguf).value_up.empty());
}

TEST(GgufLatentLayout, newer_files_have_them_by_heads_keys_transposed) {
  const Checkpoint gguf = opened(golden("deepseek_v3") + "/model.gguf");
  const Checkpoint checkpoint = opened(golden("deepseek_v3"));
  const auto& c = std::get<model::LatentConfig>(gguf.config().attention);
  const auto whole = rows_of(latent(checkpoint).kv_up);
  EXPECT_EQ(latent(gguf).kv_up.outputs, 0);
  ASSERT_EQ(latent(gguf).key_up.size(), 2u);
  ASSERT_EQ(latent(gguf).value_up.size(), 2u);
  const auto N = static_cast<std::size_t>(c.nope_size);
  const auto V = static_cast<std::size_t>(c.value_size);
  for (std::size_t head = 0; head < 2; ++head) {
    const auto keys = rows_of(latent(gguf).key_up[head]);
    const auto values = rows_of(latent(gguf).value_up[head]);
    const std::size_t first = head * (N + V);
    ASSERT_EQ(keys.size(), static_cast<std::size_t>(c.kv_rank));
    ASSERT_EQ(values.size(), V);
    for (std::size_t n = 0; n < N; ++n) {
      for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(keys[i][n], whole[first + n][i]);
    }
    for (std::size_t v = 0; v < V; ++v) EXPECT_EQ(values[v], whole[first + N + v]);
  }
}

/// V2-Lite's file, and V3's, to be changed.
class GgufLatentFiles : public ::testing::Test {
 protected:
  static void set(EditableGguf& file, const std::string& key, formats::GgufValue value) {
    file.metadata.insert_or_assign("deepseek2." + key, std::move(value));
  }
  /// Of the file with one key set; "" where it opens.
  static std::string error_with(EditableGguf file, const std::string& key,
                                formats::GgufValue value) {
    set(file, key, std::move(value));
    return file.error();
  }
  static std::string error_without(EditableGguf file, const std::string& key) {
    file.metadata.erase("deepseek2." + key);
    return file.error();
  }
  static model::ModelConfig config(const EditableGguf& file) {
    const formats::testing::ScratchFolder folder;
    return opened(file.write(folder)).config();
  }

  static EditableGguf lite() { return EditableGguf("deepseek_v2_lite"); }
  static EditableGguf v3() { return EditableGguf("deepseek_v3"); }
};

TEST_F(GgufLatentFiles, unchanged_are_read) {
  EXPECT_EQ(lite().error(), "");
  EXPECT_EQ(v3().error(), "");
}

TEST_F(GgufLatentFiles, keys_that_must_be_there) {
  EXPECT_EQ(error_without(lite(), "attention.kv_lora_rank"),
            "deepseek2.attention.kv_lora_rank is missing; accepted is an integer, 1 .. 1048576");
  EXPECT_EQ(error_without(lite(), "attention.key_length"),
            "deepseek2.attention.key_length is missing; accepted is an integer, 9 .. 1032");
  EXPECT_EQ(error_without(v3(), "attention.value_length_mla"),
            "deepseek2.attention.value_length_mla is missing; accepted is an integer, 1 .. 1024");
  EXPECT_EQ(error_without(lite(), "rope.dimension_count"),
            "deepseek2.rope.dimension_count is missing; accepted is an integer, 1 .. 1024");
  EXPECT_EQ(error_without(lite(), "expert_shared_count"),
            "deepseek2.expert_shared_count is missing; accepted is an integer, 0 .. 1024");
  EXPECT_EQ(error_without(v3(), "expert_group_used_count"),
            "deepseek2.expert_group_used_count is missing; accepted is an integer, 1 .. 1024");
}

TEST_F(GgufLatentFiles, layouts_are_not_mixed) {
  EXPECT_EQ(error_with(lite(), "attention.head_count_kv", std::uint32_t{1}),
            "deepseek2.attention.head_count_kv is u32 1; accepted is 2");
  EXPECT_EQ(error_with(v3(), "attention.head_count_kv", std::uint32_t{2}),
            "deepseek2.attention.head_count_kv is u32 2; accepted is 1");
  EXPECT_EQ(error_with(v3(), "attention.key_length", std::uint32_t{28}),
            "deepseek2.attention.key_length is u32 28; accepted is 36");
  EXPECT_EQ(error_with(v3(), "attention.value_length", std::uint32_t{10}),
            "deepseek2.attention.value_length is u32 10; accepted is 20");
}

TEST_F(GgufLatentFiles, heads_that_are_all_rope_are_refused) {
  EXPECT_EQ(error_with(lite(), "attention.key_length", std::uint32_t{8}),
            "deepseek2.attention.key_length is u32 8; accepted is an integer, 9 .. 1032");
}

TEST_F(GgufLatentFiles, temperatures_of_yarn_that_are_not_deepseeks) {
  EXPECT_EQ(error_without(lite(), "rope.scaling.yarn_log_multiplier"),
            "deepseek2.rope.scaling.yarn_log_multiplier is missing; accepted is a number, "
            "0.001 .. 10");
  EXPECT_EQ(error_with(lite(), "rope.scaling.attn_factor", 1.5F),
            "deepseek2.rope.scaling.attn_factor is f32 1.5; accepted is 1");
  EXPECT_EQ(error_with(lite(), "attention.temperature_scale", 0.1F),
            "deepseek2.attention.temperature_scale is f32 0.1; accepted is 0");
}

TEST_F(GgufLatentFiles, other_scalings_of_rope_are_refused) {
  EXPECT_EQ(error_with(lite(), "rope.scaling.type", std::string_view("linear")),
            "deepseek2.rope.scaling.type is text 'linear'; accepted is 'none' or 'yarn'");
  EditableGguf table = lite();
  table.tensors["rope_freqs.weight"] = floats({4}, {1, 1, 1, 1});
  EXPECT_EQ(table.error(), "rope_freqs.weight is there; accepted is none with latent attention");
}

TEST_F(GgufLatentFiles, without_scaling_scores_have_no_temperature) {
  EditableGguf file = lite();
  set(file, "rope.scaling.type", std::string_view("none"));
  EXPECT_EQ(config(file).rope.scaling, model::RopeScaling());
  EXPECT_FLOAT_EQ(config(file).attention_scale, 1 / std::sqrt(20.0F));
}

TEST_F(GgufLatentFiles, scores_of_experts_that_are_not_told) {
  EXPECT_EQ(config(lite()).experts->score, model::ExpertScore::softmax) << "the key came later";
  EXPECT_EQ(config(lite()).family, "deepseek_v2");
  EXPECT_EQ(config(v3()).family, "deepseek_v3");
  EXPECT_EQ(error_without(v3(), "expert_gating_func"),
            "deepseek2.expert_gating_func is missing; accepted is an integer, 1 (softmax) or 2 "
            "(sigmoid), as there is a correction bias");
  EXPECT_EQ(error_with(lite(), "expert_gating_func", std::uint32_t{3}),
            "deepseek2.expert_gating_func is u32 3; accepted is an integer, 1 .. 2");
  EXPECT_EQ(
      error_with(lite(), "expert_weights_norm", true),
      "deepseek2.expert_weights_norm is boolean true; accepted is false, as scores are softmax");
}

TEST_F(GgufLatentFiles, groups_of_experts) {
  EditableGguf file = lite();
  set(file, "expert_group_count", std::uint32_t{4});
  set(file, "expert_group_used_count", std::uint32_t{2});
  const model::ExpertsConfig limited = *config(file).experts;
  EXPECT_EQ(limited.groups, 4);
  EXPECT_EQ(limited.groups_per_token, 2);
  EXPECT_EQ(limited.group_best, 1) << "as DeepSeek-V2 has it";
  set(file, "expert_group_used_count", std::uint32_t{5});
  EXPECT_EQ(file.error(), "deepseek2.expert_group_used_count is 5; accepted is 1 .. 4");

  EditableGguf older = v3();
  older.metadata.erase("deepseek2.expert_group_count");
  EXPECT_EQ(config(older).experts->groups, 1);
}

TEST_F(GgufLatentFiles, layers_without_experts_are_the_first_ones) {
  EXPECT_EQ(error_with(lite(), "leading_dense_block_count", std::uint32_t{3}),
            "deepseek2.leading_dense_block_count is u32 3; accepted is an integer, 0 .. 2");
  EXPECT_EQ(error_with(lite(), "leading_dense_block_count", std::uint32_t{2}),
            "tensor 'blk.1.ffn_gate.weight': is missing; needed is [40, 32]");
  EXPECT_EQ(error_with(lite(), "nextn_predict_layers", std::uint32_t{1}),
            "deepseek2.nextn_predict_layers is u32 1; accepted is 0");
}

TEST_F(GgufLatentFiles, tensors_that_are_missing) {
  EditableGguf whole = lite();
  whole.tensors.erase("blk.1.attn_kv_b.weight");
  EXPECT_EQ(whole.error(), "tensor 'blk.1.attn_kv_b.weight': is missing; needed is [44, 20]");
  EditableGguf by_heads = v3();
  by_heads.tensors.erase("blk.1.attn_v_b.weight");
  EXPECT_EQ(by_heads.error(), "tensor 'blk.1.attn_v_b.weight': is missing; needed is [2, 10, 20]");
  EditableGguf bias = v3();
  bias.tensors.erase("blk.2.exp_probs_b.bias");
  EXPECT_EQ(bias.error(),
            "tensor 'blk.2.exp_probs_b.bias': is missing; needed is F32, F16 or BF16 [12]");
}

TEST_F(GgufLatentFiles, keys_by_heads_that_are_not_transposed) {
  EditableGguf file = v3();
  file.tensors["blk.0.attn_k_b.weight"].shape = {2, 12, 20};
  EXPECT_EQ(file.error(),
            "tensor 'blk.0.attn_k_b.weight': is F32[2, 12, 20]; needed is a type of weights, "
            "[2, 20, 12]");
  file.tensors["blk.0.attn_k_b.weight"].shape = {24, 20};
  EXPECT_EQ(file.error(),
            "tensor 'blk.0.attn_k_b.weight': is F32[24, 20]; needed is a type of weights, "
            "[2, 20, 12]");
}

TEST_F(GgufLatentFiles, of_both_layouts_in_one_file_the_whole_matrix_is_read) {
  EditableGguf file = lite();
  file.tensors["blk.1.attn_k_b.weight"] = floats({1, 1}, {1});
  file.tensors["blk.1.attn_v_b.weight"] = floats({1, 1}, {1});
  const formats::testing::ScratchFolder folder;
  const Checkpoint checkpoint = opened(file.write(folder));
  EXPECT_EQ(latent(checkpoint).kv_up.outputs, 44);
  EXPECT_EQ(checkpoint.unused().size(), 2u);
}

}  // namespace
}  // namespace forge::checkpoint
