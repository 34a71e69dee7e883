// Models that are made up are the same in both formats.
#include "random_rows.h"

#include <gtest/gtest.h>

#include <map>

#include "forge/model/stored_shapes.h"

namespace forge::apps {
namespace {

using checkpoint::FileTensor;
using checkpoint::ModelFormat;

/// The rows of a made-up model's tensors in F32, by name.
class MadeUp {
 public:
  MadeUp(const model::ModelConfig& config, ModelFormat format) {
    const model::StoredModel shapes = model_shapes(config);
    RandomRowSource source(7, config);
    for (const FileTensor& tensor : file_tensors(config, shapes, format)) {
      source.begin(tensor);
      std::vector<std::vector<float>>& rows = rows_[tensor.spec.name];
      for (std::uint64_t row = 0; row < tensor.rows(); ++row) {
        rows.emplace_back(static_cast<std::size_t>(tensor.row_elements()));
        EXPECT_TRUE(source.write(tensor, row, std::as_writable_bytes(std::span(rows.back()))));
      }
      source.end(tensor);
    }
  }

  const std::vector<std::vector<float>>& operator[](const std::string& name) const {
    return rows_.at(name);
  }

 private:
  std::map<std::string, std::vector<std::vector<float>>> rows_;
};

TEST(RandomRows, of_latents_are_the_same_whole_and_by_heads) {
  constexpr std::size_t kHeads = 3, kRank = 8, kKey = 4, kValue = 6;
  model::ModelConfig config;
  config.vocabulary_size = 5;
  config.hidden_size = 16;
  config.layers = 1;
  config.ffn_size = 12;
  config.attention = model::LatentConfig{
      .heads = kHeads, .kv_rank = kRank, .nope_size = kKey, .rope_size = 2, .value_size = kValue};
  const MadeUp hf(config, ModelFormat::safetensors);
  const MadeUp gguf(config, ModelFormat::gguf);
  EXPECT_EQ(hf["model.layers.0.mlp.up_proj.weight"], gguf["blk.0.ffn_up.weight"]);
  const auto& whole = hf["model.layers.0.self_attn.kv_b_proj.weight"];
  const auto& keys = gguf["blk.0.attn_k_b.weight"];
  const auto& values = gguf["blk.0.attn_v_b.weight"];
  ASSERT_EQ(keys.size(), kHeads * kRank);
  ASSERT_EQ(values.size(), kHeads * kValue);
  for (std::size_t head = 0; head < kHeads; ++head) {
    const std::size_t first = head * (kKey + kValue);
    for (std::size_t n = 0; n < kKey; ++n) {
      for (std::size_t c = 0; c < kRank; ++c) {
        EXPECT_EQ(keys[head * kRank + c][n], whole[first + n][c]);
      }
    }
    for (std::size_t v = 0; v < kValue; ++v) {
      EXPECT_EQ(values[head * kValue + v], whole[first + kKey + v]);
    }
  }
}

TEST(RandomRows, of_experts_are_stacked) {
  model::ModelConfig config;
  config.vocabulary_size = 5;
  config.hidden_size = 16;
  config.layers = 1;
  config.attention = model::GroupedQueryConfig{.heads = 2, .head_size = 8};
  config.experts = model::ExpertsConfig{.experts = 3, .expert_size = 4, .dense_layers = {false}};
  const MadeUp hf(config, ModelFormat::safetensors);
  const MadeUp gguf(config, ModelFormat::gguf);
  const auto& stack = gguf["blk.0.ffn_down_exps.weight"];
  ASSERT_EQ(stack.size(), 3 * 16u);
  for (std::size_t row = 0; row < stack.size(); ++row) {
    const std::string expert = "model.layers.0.mlp.experts." + std::to_string(row / 16);
    EXPECT_EQ(stack[row], hf[expert + ".down_proj.weight"][row % 16]);
  }
}

}  // namespace
}  // namespace forge::apps
