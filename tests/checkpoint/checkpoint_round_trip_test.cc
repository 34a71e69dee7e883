// Models of every family through both formats: written, read back and written again, they are the
// same. Where a format cannot say a configuration, it is given and the weights alone are compared.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "checkpoint/any_config.h"
#include "checkpoint/checkpoint_edit.h"
#include "config_difference.h"
#include "forge/checkpoint/gguf_config.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/checkpoint/weight_mix.h"
#include "forge/checkpoint/write_model.h"
#include "forge/model/weights_digest.h"
#include "model/stored_weights.h"
#include "model/transformer_runner.h"
#include "read_model.h"

namespace forge::checkpoint {
namespace {

using formats::testing::ScratchFolder;
using model::LatentLayout;
using model::ModelConfig;
using testing::golden;

/// A file whose weights are those of a given configuration.
struct OpenedFile {
  OpenedFile(const std::string& path, const ModelConfig& model)
      : file(TensorFile::open(path).value()), config{.model = model, .quantization = {}} {
    detail::TensorSource source(file, config);
    const auto read = detail::read_model(config.model, source);
    if (!read) throw std::runtime_error(to_string(read.error()));
    stored = *read;
    unused = source.unused();
    copies = source.take_copies();
  }

  /// Name, type, shape and bytes of each tensor.
  std::map<std::string, std::pair<std::string, std::string>> tensors() const {
    std::map<std::string, std::pair<std::string, std::string>> out;
    for (const formats::Tensor& tensor : file.tensors()) {
      const auto* const bytes = reinterpret_cast<const char*>(tensor.bytes.data());
      out[tensor.name] = {to_string(tensor), std::string(bytes, tensor.bytes.size())};
    }
    return out;
  }

  TensorFile file;
  HfConfig config;
  model::StoredModel stored;
  std::vector<std::string> unused;
  std::vector<std::vector<std::byte>> copies;  // which `stored` borrows
};

std::string digest_text(const model::StoredModel& stored) {
  linear::ThreadPool pool(1);
  return to_string(digest_of(stored, pool));
}

/// Writes a model in the types that it has. Returns: the path.
std::string write(const ModelConfig& config, const model::StoredModel& stored, ModelFormat format,
                  const std::string& path, LatentLayout layout = LatentLayout::by_heads) {
  std::vector<FileTensor> tensors = file_tensors(config, stored, format, layout);
  keep_types(format, tensors);
  linear::ThreadPool threads(2);
  StoredRowSource source;
  const ModelRows rows{tensors, source, threads};
  const auto written =
      format == ModelFormat::gguf ? write_gguf(path, {}, rows) : write_safetensors(path, {}, rows);
  if (!written) throw std::runtime_error(written.error());
  return path;
}

class CheckpointRoundTrip : public ::testing::TestWithParam<const char*> {
 protected:
  /// The golden model in GGUF.
  OpenedFile gguf_of(const Checkpoint& checkpoint) const {
    const std::string path = folder_.file("model.gguf");
    write(checkpoint.config(), checkpoint.model(), ModelFormat::gguf, path);
    return {path, as_in_gguf(checkpoint.config())};
  }

  std::string golden_digest() const {
    std::ifstream file(golden("weights_digests.txt"));
    std::string name;
    std::string digest;
    while (file >> name >> digest && name != GetParam()) continue;
    return digest;
  }

  ScratchFolder folder_;
};

TEST_P(CheckpointRoundTrip, through_gguf_gives_the_same_tensors) {
  const Checkpoint checkpoint = testing::opened(golden(GetParam()));
  EXPECT_EQ(digest_text(checkpoint.model()), golden_digest());
  const OpenedFile gguf = gguf_of(checkpoint);
  EXPECT_TRUE(gguf.unused.empty()) << gguf.unused.front();
  const std::string path =
      write(gguf.config.model, gguf.stored, ModelFormat::safetensors, folder_.file("back"));
  const OpenedFile back(path, checkpoint.config());
  EXPECT_EQ(digest_text(back.stored), golden_digest());
  EXPECT_EQ(back.tensors(), OpenedFile(golden(GetParam()), checkpoint.config()).tensors());
}

TEST_P(CheckpointRoundTrip, in_gguf_it_computes_the_same_logits) {
  const Checkpoint checkpoint = testing::opened(golden(GetParam()));
  const OpenedFile gguf = gguf_of(checkpoint);
  linear::ThreadPool threads(1);
  testing::StoredWeights floats;  // then nothing rounds activations to bf16
  const auto logits = [&](const ModelConfig& config, const model::StoredModel& stored) {
    const model::StoredModel wide = floats.converted(stored, quant::WeightType::f32);
    const model::Transformer transformer(config, pack(config, wide, threads).value());
    return testing::logits_alone(transformer, {TokenId{1}, TokenId{17}, TokenId{90}, TokenId{8}});
  };
  const auto expected = logits(checkpoint.config(), checkpoint.model());
  const auto found = logits(gguf.config.model, gguf.stored);
  // Another order of the same products' sums: as far apart as README of the models measures it.
  const std::string name = std::string(GetParam()).starts_with("llama_") ? "llama" : GetParam();
  const double tolerance =
      4 * testing::json_file(golden(name) + "/golden.json")["float32_error"].get<double>();
  for (std::size_t row = 0; row < expected.size(); ++row) {
    for (std::size_t i = 0; i < expected[row].size(); ++i) {
      ASSERT_NEAR(found[row][i], expected[row][i], tolerance) << row << ", " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, CheckpointRoundTrip,
                         ::testing::Values("llama", "llama_bf16", "llama_sharded", "llama3_rope",
                                           "mistral", "mistral_sliding", "qwen2", "qwen3",
                                           "qwen3_moe", "qwen3_moe_unnormed", "deepseek_v2_lite",
                                           "deepseek_v2", "deepseek_v3", "olmo2", "granite",
                                           "llama_biases", "qwen2_windows", "mixtral", "qwen2_moe",
                                           "smollm3", "phi3", "phi3_long", "olmo3", "glm4",
                                           "gemma2", "gemma3", "gpt_oss", "gpt_oss_codes",
                                           "tales"));

/// What llama.cpp's converter makes of a checkpoint is what Forge writes for it.
TEST(CheckpointFiles, are_those_of_llama_cpp) {
  const ScratchFolder folder;
  for (const std::string name : {"llama", "llama3_rope", "qwen2", "deepseek_v2_lite", "deepseek_v3",
                                 "gpt_oss_codes", "gpt_oss_codes_mxfp4"}) {
    const Checkpoint checkpoint = testing::opened(golden(name));
    const Checkpoint theirs = testing::opened(golden(name) + "/model.gguf");
    const std::string path = folder.file(name + ".gguf");
    write(checkpoint.config(), checkpoint.model(), ModelFormat::gguf, path,
          layout_of(theirs.model()));
    auto expected = OpenedFile(golden(name) + "/model.gguf", theirs.config()).tensors();
    expected.erase("rope_freqs.weight");  // is the configuration's
    EXPECT_EQ(OpenedFile(path, theirs.config()).tensors(), expected) << name;
  }
}

/// The error of writing a golden model, in which a number of a tensor is `value`, as GGUF.
std::string error_with(const std::string& tensor, std::size_t index, float value) {
  auto edited = testing::EditableCheckpoint::of("deepseek_v3");
  std::memcpy(&edited.tensors.at(tensor).bytes[sizeof value * index], &value, sizeof value);
  const ScratchFolder folder;
  edited.write(folder);
  const Checkpoint checkpoint = testing::opened(folder.path());
  std::vector<FileTensor> tensors =
      file_tensors(checkpoint.config(), checkpoint.model(), ModelFormat::gguf);
  choose_types(WeightMix{.type = quant::WeightType::f16}, checkpoint.config(), tensors);
  linear::ThreadPool threads(2);
  StoredRowSource source(checkpoint);
  const auto written = write_gguf(folder.file("x.gguf"), {}, {tensors, source, threads});
  EXPECT_FALSE(std::filesystem::exists(folder.file("x.gguf")));
  return written ? "" : written.error();
}

TEST(CheckpointFiles, that_cannot_be_written_say_which_number_of_which_tensor_it_is) {
  const std::string kv_up = "model.layers.1.self_attn.kv_b_proj.weight";
  const std::string accepted = "accepted are finite numbers";
  const std::string is = "' at [";
  // Of 20 columns; a head has 12 rows of its key, which are transposed, and 10 of its value.
  EXPECT_EQ(error_with(kv_up, 5 * 20 + 7, NAN),
            "tensor '" + kv_up + is + "5, 7] is nan; " + accepted);
  EXPECT_EQ(error_with(kv_up, 43 * 20 + 19, -INFINITY),
            "tensor '" + kv_up + is + "43, 19] is -inf; " + accepted);
  const std::string expert = "model.layers.2.mlp.experts.7.down_proj.weight";
  EXPECT_EQ(error_with(expert, 3 * 12 + 1, 65520),
            "tensor '" + expert + is + "3, 1] is 65520; " + accepted + " below 65520 for F16");
}

int small(int size, int most) { return 1 + size % most; }

void make_small(ModelConfig& config, model::GroupedQueryConfig& c) {
  c.kv_heads = small(c.kv_heads, 2);
  c.heads = c.kv_heads * small(c.heads, 2);
  c.head_size = config.rope.size = 2 * small(c.head_size, 8);
  const auto layers = static_cast<std::size_t>(config.layers);
  if (!c.full_layers.empty()) c.full_layers.resize(layers);
  if (!config.unturned_layers.empty()) config.unturned_layers.resize(layers);
  if (config.window_rope) config.window_rope->size = config.rope.size;
  if (config.activation == model::Activation::gelu_tanh) {  // of Gemma
    config.embedding_multiplier = std::sqrt(static_cast<float>(config.hidden_size));
  }
  testing::make_usual(config);
  if (auto* const both = std::get_if<model::LongRope>(&config.rope.scaling)) {
    both->short_divisors.resize(static_cast<std::size_t>(config.rope.size) / 2, 1.5F);
    both->long_divisors.resize(static_cast<std::size_t>(config.rope.size) / 2, 2.5F);
  }
  if (config.family == "granite") return;  // whose scale is a number of its own
  config.attention_scale = static_cast<float>(1 / std::sqrt(double{1} * c.head_size));
}

/// Without scaling of RoPE, which would be in the scale of the scores too.
void make_small(ModelConfig& config, model::LatentConfig& c) {
  c.heads = small(c.heads, 3);
  if (c.query_rank > 0) c.query_rank = small(c.query_rank, 24);
  c.kv_rank = small(c.kv_rank, 24);
  c.nope_size = small(c.nope_size, 12);
  c.rope_size = config.rope.size = 2 * small(c.rope_size, 4);
  c.value_size = small(c.value_size, 12);
  config.rope.scaling = {};
  config.attention_scale = static_cast<float>(1 / std::sqrt(double{1} * c.nope_size + c.rope_size));
}

void make_small(model::ExpertsConfig& c, int layers) {
  const int shared = c.shared_gate ? 2 : c.shared_size / c.expert_size;
  c.experts = 1 + small(c.experts, 4);  // of one group, of which V3 scores two
  c.groups = c.groups_per_token = 1;
  c.experts_per_token = small(c.experts_per_token, c.experts);
  c.expert_size = small(c.expert_size, 12);
  c.shared_size = shared * c.expert_size;
  c.dense_layers.resize(static_cast<std::size_t>(layers));
}

/// A model of any family, of a few thousand weights.
ModelConfig any_small_config() {
  const auto family = *rc::gen::elementOf(testing::kFamilies);
  ModelConfig config = *testing::any_config(family);
  config.vocabulary_size = small(config.vocabulary_size, 40);
  config.hidden_size = small(config.hidden_size, 32);
  config.layers = std::min(config.layers, 3);
  std::visit([&](auto& attention) { make_small(config, attention); }, config.attention);
  if (config.experts) make_small(*config.experts, config.layers);
  const bool dense = !config.experts || std::ranges::count(config.experts->dense_layers, true) > 0;
  config.ffn_size = dense ? small(config.ffn_size, 40) : 0;
  return config;
}

quant::WeightType any_plain_type() {
  using quant::WeightType;
  return *rc::gen::element(WeightType::f32, WeightType::f16, WeightType::bf16);
}

/// What opening a checkpoint gives.
void expect_is(const std::string& path, const ModelConfig& config, const std::string& digest) {
  const auto opened = Checkpoint::open(path);
  if (!opened) RC_FAIL(to_string(opened.error()));
  const auto different = detail::difference(config, opened->config(), 1e-6);  // floats of GGUF
  if (different) RC_FAIL(*different);
  RC_ASSERT(opened->unused().empty());
  RC_ASSERT(digest_text(opened->model()) == digest);
}

RC_GTEST_PROP(CheckpointFiles, of_any_model_of_any_family_come_back, ()) {
  const ModelConfig config = any_small_config();
  const quant::WeightType type = any_plain_type();
  testing::StoredWeights weights;
  const model::StoredModel stored = weights.random(config, type);
  const std::string digest = digest_text(stored);
  const ScratchFolder folder;
  const auto save = [&](const ModelConfig& of, const model::StoredModel& model,
                        const std::string& name) {
    const std::string path = write(of, model, ModelFormat::safetensors, folder.file(name));
    std::ofstream(path + "/config.json") << config_text(config, type).value();
    return path;
  };
  expect_is(save(config, stored, "a"), config, digest);

  formats::GgufKeys keys;
  const bool fits = describe_in_gguf(config, keys).has_value();
  RC_CLASSIFY(fits, "GGUF can say it");
  if (!fits) return;
  std::vector<FileTensor> tensors = file_tensors(config, stored, ModelFormat::gguf);
  keep_types(ModelFormat::gguf, tensors);
  const auto tables = rope_tables(config.rope);
  for (const RopeTable& table : tables) tensors.push_back(rope_tensor(table));
  linear::ThreadPool threads(2);
  StoredRowSource source;
  RC_ASSERT(
      write_gguf(folder.file("b.gguf"), keys.metadata(), {tensors, source, threads}).has_value());
  const Checkpoint gguf = testing::opened(folder.file("b.gguf"));
  expect_is(folder.file("b.gguf"), as_in_gguf(config), digest_text(gguf.model()));
  expect_is(save(gguf.config(), gguf.model(), "c"), config, digest);
}

RC_GTEST_PROP(CheckpointFiles, of_any_latents_come_back_in_both_layouts, ()) {
  const ModelConfig config = any_small_config();
  const auto layout = *rc::gen::element(LatentLayout::whole, LatentLayout::by_heads);
  testing::StoredWeights weights;
  const model::StoredModel stored = weights.random(config, any_plain_type());
  const ScratchFolder folder;
  const ModelConfig in_gguf = as_in_gguf(config);
  const OpenedFile gguf(write(config, stored, ModelFormat::gguf, folder.file("a.gguf"), layout),
                        in_gguf);
  RC_ASSERT(gguf.unused.empty());
  const OpenedFile back(write(in_gguf, gguf.stored, ModelFormat::safetensors, folder.file("b")),
                        config);
  RC_ASSERT(back.unused.empty());
  RC_ASSERT(digest_text(back.stored) == digest_text(stored));
}

RC_GTEST_PROP(CheckpointFiles, of_quantized_models_are_copied, ()) {
  using quant::WeightType;
  const ModelConfig config = as_in_gguf(any_small_config());
  testing::StoredWeights weights;
  const auto type = *rc::gen::element(WeightType::q8_0, WeightType::q4_0, WeightType::q5_1);
  const ScratchFolder folder;
  const auto layout = *rc::gen::element(LatentLayout::whole, LatentLayout::by_heads);
  const OpenedFile first(
      write(config, weights.random(config, type), ModelFormat::gguf, folder.file("a.gguf"), layout),
      config);
  const OpenedFile second(
      write(config, first.stored, ModelFormat::gguf, folder.file("b.gguf"), layout), config);
  RC_ASSERT(second.tensors() == first.tensors());
  RC_ASSERT(digest_text(second.stored) == digest_text(first.stored));
}

}  // namespace
}  // namespace forge::checkpoint
