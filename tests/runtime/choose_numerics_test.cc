// Which numerics a run on a GPU gets, by model, target and what was asked for.
#include "choose_numerics.h"

#include <gtest/gtest.h>

#include <vector>

#include "forge/checkpoint/weight_mix.h"
#include "forge/checkpoint/write_model.h"
#include "formats/scratch_folder.h"
#include "model/stored_weights.h"

namespace forge::runtime {
namespace {

using numerics::KvType;
using enum RunNumerics;

constexpr const char* kConfig = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 16, "num_hidden_layers": 1, "vocab_size": 320, "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu"})";

model::ModelConfig small_llama() {
  return {.family = "llama",
          .vocabulary_size = 320,
          .hidden_size = 64,
          .layers = 1,
          .ffn_size = 96,
          .positions = 512,
          .attention = model::GroupedQueryConfig{.heads = 4, .kv_heads = 2, .head_size = 16},
          .attention_scale = 0.25F,
          .rope = {.size = 16}};
}

/// A model with weights of f32, and one with weights of bf16.
class ChooseNumerics : public ::testing::Test {
 protected:
  ChooseNumerics() {
    write("f32", quant::WeightType::f32);
    write("bf16", quant::WeightType::bf16);
  }

  void write(const std::string& name, quant::WeightType type) const {
    forge::testing::StoredWeights weights;
    const model::ModelConfig config = small_llama();
    const model::StoredModel stored = weights.random(config, type);
    constexpr auto kFormat = checkpoint::ModelFormat::safetensors;
    std::vector<checkpoint::FileTensor> tensors = checkpoint::file_tensors(config, stored, kFormat);
    checkpoint::keep_types(kFormat, tensors);
    linear::ThreadPool threads(1);
    checkpoint::StoredRowSource source;
    const auto written = checkpoint::write_safetensors(
        folder_.file(name), {{"config.json", kConfig}}, {tensors, source, threads});
    EXPECT_TRUE(written) << written.error();
  }

  struct Asked {
    bool is_bf16 = true;
    TargetKind kind = TargetKind::cuda;
    RunNumerics numerics = automatic;
    std::optional<KvType> kv = {};
  };
  struct Chosen {
    RunNumerics numerics;
    KvType kv;
    friend bool operator==(const Chosen&, const Chosen&) = default;
  };

  tl::expected<Chosen, std::string> chosen(const Asked& asked) const {
    TargetOptions options;
    options.kind = asked.kind;
    options.source.path = folder_.file(asked.is_bf16 ? "bf16" : "f32");
    options.source.numerics = asked.numerics;
    options.kv = asked.kv;
    if (asked.kv) options.executor.kv_type = *asked.kv;
    const auto model = LoadedModel::open(options.source, options.kind).value();
    if (const auto done = choose_numerics(options, *model); !done) {
      return tl::unexpected(done.error());
    }
    return Chosen{options.source.numerics, options.executor.kv_type};
  }

  formats::testing::ScratchFolder folder_;
};

TEST_F(ChooseNumerics, automatic_is_fast_on_cuda_for_models_of_its_shapes) {
  EXPECT_EQ(chosen({}), (Chosen{fast, KvType::bf16}));
  EXPECT_EQ(chosen({.kv = KvType::f16}), (Chosen{fast, KvType::f16}));
  EXPECT_EQ(chosen({.kv = KvType::f32}), (Chosen{canonical, KvType::f32}));
  EXPECT_EQ(chosen({.is_bf16 = false}), (Chosen{canonical, KvType::f32}));
  EXPECT_EQ(chosen({.is_bf16 = false, .kv = KvType::bf16}), (Chosen{canonical, KvType::bf16}));
}

TEST_F(ChooseNumerics, automatic_is_canonical_on_a_simulated_gpu_and_native_on_a_cpu) {
  EXPECT_EQ(chosen({.kind = TargetKind::sim}), (Chosen{canonical, KvType::f32}));
  EXPECT_EQ(chosen({.kind = TargetKind::cpu}), (Chosen{native, KvType::f32}));
}

TEST_F(ChooseNumerics, what_was_asked_for_is_kept_or_refused) {
  EXPECT_EQ(chosen({.kind = TargetKind::sim, .numerics = fast}), (Chosen{fast, KvType::bf16}));
  EXPECT_EQ(chosen({.numerics = canonical}), (Chosen{canonical, KvType::f32}));
  EXPECT_EQ(chosen({.is_bf16 = false, .numerics = fast}).error(),
            "--numerics fast: f32: weights of f32, accepted with fast numerics: bf16, f16, codes");
  EXPECT_EQ(chosen({.numerics = fast, .kv = KvType::f32}).error(),
            "--kv f32, accepted with --numerics fast: bf16, f16");
  EXPECT_EQ(chosen({.numerics = native}).error(),
            "--numerics native: accepted with --target cuda: auto, canonical, fast");
  EXPECT_EQ(chosen({.kind = TargetKind::cpu, .numerics = fast}).error(),
            "--numerics fast: accepted with --target cpu: auto, canonical, native");
}

}  // namespace
}  // namespace forge::runtime
