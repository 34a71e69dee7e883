// Checkpoints on disk: every golden model opens, in every file format that it has.
#include "forge/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "checkpoint/checkpoint_edit.h"
#include "forge/model/packed_model.h"
#include "trained_checkpoints.h"

namespace forge::checkpoint {
namespace {

using linear::StoredLinear;
using testing::golden;

std::vector<float> row(const StoredLinear& matrix, int output) {
  std::vector<float> out(static_cast<std::size_t>(matrix.inputs));
  linear::stored_row(matrix, output, out.data());
  return out;
}

std::vector<std::vector<float>> rows(const StoredLinear& matrix) {
  std::vector<std::vector<float>> out;
  for (int output = 0; output < matrix.outputs; ++output) out.push_back(row(matrix, output));
  return out;
}

using Shape = std::pair<int, int>;
Shape shape(const StoredLinear& matrix) { return {matrix.outputs, matrix.inputs}; }

/// All matrices of a layer with grouped-query attention and a dense MLP, in one order.
std::vector<StoredLinear> matrices(const model::StoredLayer& layer) {
  const auto& attention = std::get<model::StoredGroupedQuery>(layer.attention);
  const auto& mlp = std::get<model::StoredMlp>(layer.mlp);
  return {attention.query, attention.key, attention.value, attention.output,
          mlp.gate,        mlp.up,        mlp.down};
}

void expect_same_weights(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(rows(a.model().embedding), rows(b.model().embedding));
  EXPECT_EQ(a.model().final_norm, b.model().final_norm);
  EXPECT_EQ(a.model().head.has_value(), b.model().head.has_value());
  ASSERT_EQ(a.model().layers.size(), b.model().layers.size());
  for (std::size_t i = 0; i < a.model().layers.size(); ++i) {
    const model::StoredLayer& left = a.model().layers[i];
    const model::StoredLayer& right = b.model().layers[i];
    EXPECT_EQ(left.attention_norm, right.attention_norm);
    EXPECT_EQ(left.mlp_norm, right.mlp_norm);
    for (std::size_t m = 0; m < matrices(left).size(); ++m) {
      EXPECT_EQ(rows(matrices(left)[m]), rows(matrices(right)[m])) << "layer " << i << ", " << m;
    }
  }
}

Checkpoint open(const std::string& path) {
  auto checkpoint = Checkpoint::open(path);
  if (!checkpoint) ADD_FAILURE() << to_string(checkpoint.error());
  return std::move(checkpoint).value();
}

TEST(Checkpoint, every_golden_model_opens_and_has_no_tensor_left) {
  int models = 0;
  for (const auto& folder : std::filesystem::directory_iterator(FORGE_GOLDEN_MODELS)) {
    if (!folder.is_directory()) continue;
    const Checkpoint checkpoint = open(folder.path().string());
    EXPECT_TRUE(checkpoint.unused().empty()) << folder.path() << checkpoint.unused().front();
    EXPECT_EQ(checkpoint.model().layers.size(),
              static_cast<std::size_t>(checkpoint.config().layers));
    EXPECT_EQ(checkpoint.model().head.has_value(), !checkpoint.config().tied_head);
    EXPECT_EQ(checkpoint.gguf(), nullptr);
    ++models;
  }
  EXPECT_EQ(models, 31);
}

TEST(Checkpoint, roles_have_the_values_of_their_tensors) {
  const Checkpoint checkpoint = open(golden("qwen2"));
  const auto file = formats::SafeTensors::open_directory(golden("qwen2")).value();
  const auto values = [&](const std::string& name) {
    const formats::Tensor& tensor = *file.find(name);
    std::vector<float> out(tensor.elements());
    std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
    return out;
  };
  const model::StoredLayer& layer = checkpoint.model().layers[1];
  const auto& attention = std::get<model::StoredGroupedQuery>(layer.attention);
  EXPECT_EQ(layer.attention_norm, values("model.layers.1.input_layernorm.weight"));
  EXPECT_EQ(layer.mlp_norm, values("model.layers.1.post_attention_layernorm.weight"));
  EXPECT_EQ(attention.key_bias, values("model.layers.1.self_attn.k_proj.bias"));
  EXPECT_TRUE(attention.output_bias.empty());
  EXPECT_TRUE(attention.query_norm.empty());
  const std::vector<float> down = values("model.layers.1.mlp.down_proj.weight");
  const auto& mlp = std::get<model::StoredMlp>(layer.mlp);
  EXPECT_EQ(shape(mlp.down), Shape(32, 64));
  EXPECT_EQ(row(mlp.down, 3), std::vector<float>(down.begin() + 3 * 64, down.begin() + 4 * 64));
}

TEST(Checkpoint, norms_after_the_sub_layers_have_other_names) {
  const Checkpoint checkpoint = open(golden("olmo2"));
  const auto& attention =
      std::get<model::StoredGroupedQuery>(checkpoint.model().layers[0].attention);
  EXPECT_EQ(attention.query_norm.size(), 32u) << "a whole row";
  EXPECT_EQ(attention.key_norm.size(), 16u);
}

TEST(Checkpoint, latent_attention_and_experts) {
  const Checkpoint checkpoint = open(golden("deepseek_v3"));
  ASSERT_TRUE(std::holds_alternative<model::StoredMlp>(checkpoint.model().layers[0].mlp));
  const model::StoredLayer& layer = checkpoint.model().layers[2];
  const auto& latent = std::get<model::StoredLatent>(layer.attention);
  EXPECT_EQ(shape(*latent.query_down), Shape(24, 32));
  EXPECT_EQ(latent.query_norm.size(), 24u);
  EXPECT_EQ(shape(latent.query_up), Shape(56, 24));
  EXPECT_EQ(shape(latent.kv_down), Shape(36, 32));
  EXPECT_EQ(latent.kv_norm.size(), 20u);
  EXPECT_EQ(shape(latent.kv_up), Shape(44, 20));
  EXPECT_EQ(shape(latent.output), Shape(32, 20));
  const auto& experts = std::get<model::StoredExperts>(layer.mlp);
  EXPECT_EQ(shape(experts.router), Shape(12, 32));
  EXPECT_EQ(experts.correction_bias.size(), 12u);
  EXPECT_EQ(experts.experts.size(), 12u);
  EXPECT_EQ(shape(experts.experts[11].down), Shape(32, 12));
  EXPECT_EQ(shape(experts.shared->gate), Shape(12, 32));

  const Checkpoint lite = open(golden("deepseek_v2_lite"));
  const auto& direct = std::get<model::StoredLatent>(lite.model().layers[1].attention);
  EXPECT_FALSE(direct.query_down);
  EXPECT_TRUE(direct.query_norm.empty());
  EXPECT_EQ(shape(direct.query_up), Shape(40, 32)) << "from the hidden state";
}

TEST(Checkpoint, one_file_several_files_and_bfloat16_are_the_same_weights) {
  const Checkpoint checkpoint = open(golden("llama"));
  expect_same_weights(checkpoint, open(golden("llama_sharded")));
  expect_same_weights(checkpoint, open(golden("llama_bf16")));
  expect_same_weights(checkpoint, open(golden("llama") + "/model.safetensors"));
}

TEST(Checkpoint, gguf_of_qwen2_is_the_same_weights) {
  const Checkpoint checkpoint = open(golden("qwen2"));
  const Checkpoint gguf = open(golden("qwen2") + "/model.gguf");
  EXPECT_NE(gguf.gguf(), nullptr);
  EXPECT_TRUE(gguf.unused().empty());
  expect_same_weights(checkpoint, gguf);
}

TEST(Checkpoint, gguf_of_llama_has_rows_of_queries_in_pairs) {
  const Checkpoint checkpoint = open(golden("llama3_rope"));
  const Checkpoint gguf = open(golden("llama3_rope") + "/model.gguf");
  EXPECT_TRUE(gguf.unused().empty()) << "the divisors of rope are in the configuration";
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const auto& halves =
        std::get<model::StoredGroupedQuery>(checkpoint.model().layers[layer].attention);
    const auto& pairs = std::get<model::StoredGroupedQuery>(gguf.model().layers[layer].attention);
    EXPECT_EQ(rows(halves.value), rows(pairs.value));
    for (int i = 0; i < 64; ++i) {
      const int in_head = i % 16;
      const int from = i - in_head + in_head / 2 + (in_head % 2) * 8;
      EXPECT_EQ(row(pairs.query, i), row(halves.query, from)) << i;
    }
  }
}

using TrainedCheckpoints = testing::TrainedCheckpointTest;

TEST_P(TrainedCheckpoints, open_in_both_formats) {
  const Checkpoint checkpoint = open(GetParam().folder);
  const Checkpoint gguf = open(GetParam().gguf());
  EXPECT_TRUE(checkpoint.unused().empty());
  EXPECT_TRUE(gguf.unused().empty());
  EXPECT_EQ(rows(checkpoint.model().embedding), rows(gguf.model().embedding));
  EXPECT_FALSE(checkpoint.model().head);
}

INSTANTIATE_TEST_SUITE_P(Of, TrainedCheckpoints, testing::both_trained_checkpoints(),
                         testing::label_of);

TEST(Checkpoint, pages_may_be_advised_and_weights_stay) {
  for (const std::string& path :
       {golden("llama_sharded"), golden("llama"), golden("llama") + "/model.gguf"}) {
    const Checkpoint checkpoint = open(path);
    for (const model::StoredLayer& layer : checkpoint.model().layers) {
      for (const StoredLinear& matrix : matrices(layer)) {
        const auto before = rows(matrix);
        checkpoint.will_read(matrix);
        checkpoint.done_with(matrix);
        EXPECT_EQ(rows(matrix), before);
      }
    }
  }
}

TEST(Checkpoint, a_file_that_becomes_shorter_while_it_is_packed_is_an_error_with_the_place) {
  const formats::testing::ScratchFolder folder;
  const std::string path = folder.file("model.gguf");
  std::filesystem::copy(golden("llama") + "/model.gguf", path);
  const auto size = std::filesystem::file_size(path);
  const Checkpoint checkpoint = open(path);
  std::uint64_t end = 0;  // in the middle of the file's last matrix
  std::string name;
  for (const formats::Tensor& tensor : checkpoint.gguf()->tensors()) {
    if (tensor.shape.size() < 2 || tensor.offset < end) continue;
    name = tensor.name;
    end = tensor.offset + tensor.bytes.size() / 2;
  }
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(end)), 0);
  linear::ThreadPool threads(2);
  CheckpointReader reader(checkpoint);
  const auto packed = pack(checkpoint.config(), checkpoint.model(), threads, {.reader = &reader});
  ASSERT_FALSE(packed);
  EXPECT_EQ(to_string(checkpoint.error_of(packed.error())),
            path + ": tensor '" + name + "' at byte " + std::to_string(end) +
                ": ends here, and had " + std::to_string(size) + " bytes when it was opened");
}

TEST(Checkpoint, weights_stay_where_they_are_when_it_is_moved) {
  for (const std::string& path : {golden("llama"), golden("llama") + "/model.gguf"}) {
    Checkpoint first = open(path);
    const auto before = rows(first.model().embedding);
    const Checkpoint second = std::move(first);
    EXPECT_EQ(rows(second.model().embedding), before);
    second.will_read(second.model().embedding);
  }
}

TEST(Checkpoint, paths_that_are_no_checkpoint) {
  const formats::testing::ScratchFolder folder;
  const auto error = [&](const std::string& name) {
    const std::string path = name.empty() ? folder.path() : folder.file(name);
    const auto checkpoint = Checkpoint::open(path);
    return checkpoint ? "" : to_string(checkpoint.error()).substr(folder.path().size());
  };
  EXPECT_EQ(error(""), ": has neither model.safetensors nor model.safetensors.index.json");
  EXPECT_EQ(error("model.bin"),
            "/model.bin: is neither a directory nor a file named .safetensors or .gguf");
  EXPECT_EQ(error("model.gguf"), "/model.gguf: cannot be opened: No such file or directory");
  EXPECT_EQ(error("model.safetensors"),
            "/model.safetensors: cannot be opened: No such file or directory");
  std::filesystem::copy(golden("llama") + "/model.safetensors", folder.path());
  EXPECT_EQ(error(""), "/config.json: cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace forge::checkpoint
