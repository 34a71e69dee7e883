// Adapters that are damaged, are not what merging can do, or are of another base.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "checkpoint/adapter_edit.h"
#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/checkpoint.h"
#include "lora_config.h"

namespace forge::checkpoint {
namespace {

using formats::ElementType;
using testing::EditableAdapter;
using testing::EditableCheckpoint;
using testing::EditableTensor;
using testing::floats;
using testing::golden;
using testing::golden_lora;

constexpr const char* kQuery = "base_model.model.model.layers.1.self_attn.q_proj";

class LoraErrors : public ::testing::Test {
 protected:
  std::string error() const { return adapter_.error(golden("llama")); }

  /// With one key changed.
  std::string error_with(const std::string& key, const nlohmann::json& value) const {
    EditableAdapter changed = adapter_;
    changed.config[key] = value;
    return changed.error(golden("llama"));
  }

  EditableTensor& tensor(const std::string& end) { return adapter_.tensors.at(kQuery + end); }

  EditableAdapter adapter_{"llama_root"};
};

std::string in_tensor(const std::string& name, const std::string& message) {
  return "adapter_model.safetensors: tensor '" + name + "': " + message;
}

TEST_F(LoraErrors, the_unchanged_adapter_has_none) { EXPECT_EQ(error(), ""); }

TEST_F(LoraErrors, a_tensor_without_its_pair) {
  EditableAdapter other = adapter_;
  other.tensors.erase(std::string(kQuery) + ".lora_A.weight");
  EXPECT_EQ(other.error(golden("llama")),
            in_tensor(std::string(kQuery) + ".lora_A.weight",
                      "is missing, while there is '" + std::string(kQuery) + ".lora_B.weight'"));
  adapter_.tensors.erase(std::string(kQuery) + ".lora_B.weight");
  EXPECT_EQ(error(),
            in_tensor(std::string(kQuery) + ".lora_B.weight",
                      "is missing, while there is '" + std::string(kQuery) + ".lora_A.weight'"));
}

TEST_F(LoraErrors, a_rank_of_zero) {
  EXPECT_EQ(error_with("r", 0),
            "adapter_config.json: r is 0; accepted is an integer, 1 .. 1048576");
  EXPECT_EQ(error_with("rank_pattern", {{"q_proj", 0}}),
            "adapter_config.json: rank_pattern.q_proj is 0; accepted is an integer, 1 .. 1048576");
  tensor(".lora_A.weight") = floats({0, 32}, {});
  EXPECT_EQ(error(), in_tensor(std::string(kQuery) + ".lora_A.weight",
                               "is F32[0, 32]; needed is F32[7, 32], or F16 or BF16, by the rank "
                               "of adapter_config.json and this base"));
}

TEST_F(LoraErrors, sizes_of_another_base) {
  tensor(".lora_B.weight") = floats({48, 7}, std::vector<float>(48 * 7));
  EXPECT_EQ(error(), in_tensor(std::string(kQuery) + ".lora_B.weight",
                               "is F32[48, 7]; needed is F32[32, 7], or F16 or BF16, by the rank "
                               "of adapter_config.json and this base"));
  EXPECT_EQ(EditableAdapter("phi3_fused").error(golden("llama")),
            in_tensor("base_model.model.model.layers.0.mlp.gate_up_proj.lora_A.weight",
                      "is for 'model.layers.0.mlp.gate_up_proj', which is no linear layer of this "
                      "base"));
}

TEST_F(LoraErrors, a_base_of_more_layers) {
  for (const char* const end : {".lora_A.weight", ".lora_B.weight"}) {
    for (const char* const part : {".self_attn.q_proj", ".mlp.down_proj"}) {
      adapter_.tensors.erase("base_model.model.model.layers.2" + std::string(part) + end);
    }
  }
  const std::string missing = "base_model.model.model.layers.2.self_attn.q_proj.lora_A.weight";
  EXPECT_EQ(error(), in_tensor(missing,
                               "is missing; target_modules has 'q_proj', which this base "
                               "has in that layer, too"));
  EXPECT_EQ(error_with("layers_to_transform", {0, 1}), "");
  EXPECT_EQ(error_with("target_modules", ".*(q|down)_proj"), "");
}

TEST_F(LoraErrors, tensors_of_other_adapters) {
  for (const std::string& name :
       {std::string("base_model.model.lm_head.lora_magnitude_vector"),
        std::string(kQuery) + ".lora_A.bias",
        std::string("base_model.model.model.embed_tokens.lora_embedding_A"),
        std::string("base_model.model.lm_head.base_layer.weight"), std::string("lora_A.weight")}) {
    EditableAdapter other = adapter_;
    other.tensors[name] = floats({2}, {1, 2});
    EXPECT_EQ(other.error(golden("llama")),
              in_tensor(name,
                        "is none of a pair; accepted are names "
                        "base_model.model.MODULE.lora_A.weight and .lora_B.weight"));
  }
  adapter_.tensors.clear();
  EXPECT_EQ(error(), "adapter_model.safetensors: has no tensors; needed is a pair or more");
}

TEST_F(LoraErrors, an_embedding_is_no_linear_layer) {
  const std::string name = "base_model.model.model.embed_tokens";
  adapter_.tensors[name + ".lora_A.weight"] = floats({7, 32}, std::vector<float>(7 * 32));
  adapter_.tensors[name + ".lora_B.weight"] = floats({96, 7}, std::vector<float>(96 * 7));
  EXPECT_EQ(error(), in_tensor(name + ".lora_A.weight",
                               "is for 'model.embed_tokens', which is no linear layer of this "
                               "base"));
}

TEST_F(LoraErrors, numbers_that_are_not_finite_or_become_so) {
  EditableAdapter other = adapter_;
  std::vector<float> numbers(7 * 32);
  numbers[40] = NAN;
  other.tensors.at(std::string(kQuery) + ".lora_A.weight") = floats({7, 32}, numbers);
  EXPECT_EQ(other.error(golden("llama")),
            in_tensor(std::string(kQuery) + ".lora_A.weight",
                      "has nan at [1, 8]; accepted are finite numbers"));
  numbers[40] = 3e38F;
  tensor(".lora_A.weight") = floats({7, 32}, numbers);
  tensor(".lora_B.weight") = floats({32, 7}, std::vector<float>(32 * 7, 2e10F));
  const std::string text = error();
  EXPECT_NE(text.find("llama/model.safetensors: tensor 'model.layers.1.self_attn.q_proj.weight': "
                      "becomes 4.5"),
            text.npos)
      << text;
  EXPECT_NE(text.find(" at [0, 8] with its adapters; accepted are numbers that are finite as F32"),
            text.npos)
      << text;
}

TEST_F(LoraErrors, a_base_that_is_not_finite_is_named) {
  EditableCheckpoint base = EditableCheckpoint::of("llama");
  const float bad = INFINITY;
  std::memcpy(base.tensors.at("model.layers.1.self_attn.q_proj.weight").bytes.data() + 4 * 33, &bad,
              sizeof bad);
  const formats::testing::ScratchFolder folder;
  base.write(folder);
  EXPECT_EQ(adapter_.error(folder.path()),
            folder.path() +
                "/model.safetensors: tensor 'model.layers.1.self_attn.q_proj.weight': has inf at "
                "[1, 1]; accepted are finite numbers");
}

TEST_F(LoraErrors, what_would_compute_something_else) {
  const std::string file = "adapter_config.json: ";
  const std::string off =
      "; accepted is null, false or an empty list: nothing but A and B is merged";
  EXPECT_EQ(error_with("peft_type", "IA3"), file + R"(peft_type is "IA3"; accepted is "LORA")");
  EXPECT_EQ(error_with("peft_type", nullptr), file + R"(peft_type is missing; accepted is "LORA")");
  EXPECT_EQ(error_with("bias", "all"), file + R"(bias is "all"; accepted is only "none")");
  EXPECT_EQ(error_with("fan_in_fan_out", true),
            file + "fan_in_fan_out is true; accepted is only false");
  EXPECT_EQ(error_with("use_dora", true), file + "use_dora is true" + off);
  EXPECT_EQ(error_with("modules_to_save", {"lm_head"}),
            file + "modules_to_save is a list of 1" + off);
  EXPECT_EQ(error_with("layer_replication", {{0, 2}}),
            file + "layer_replication is a list of 1" + off);
  for (const char* const key :
       {"trainable_token_indices", "target_parameters", "lora_bias", "use_qalora", "use_bdlora",
        "alora_invocation_tokens", "a_key_of_next_year"}) {
    EXPECT_EQ(error_with(key, {1}), file + key + " is a list of 1" + off);
    EXPECT_EQ(error_with(key, nullptr), "");
    EXPECT_EQ(error_with(key, false), "");
  }
  EXPECT_EQ(error_with("init_lora_weights", "pissa"),
            file +
                "init_lora_weights is \"pissa\"; accepted is true, false, \"gaussian\", \"eva\" "
                "or \"orthogonal\"; with others the adapter is not one of the base as it is");
  EXPECT_EQ(error_with("init_lora_weights", "gaussian"), "");
}

TEST_F(LoraErrors, numbers_of_the_configuration) {
  const std::string file = "adapter_config.json: ";
  EXPECT_EQ(error_with("lora_alpha", "two").find(file + "lora_alpha is \"two\"; accepted is"), 0U);
  EXPECT_EQ(error_with("rank_pattern", {{".*_proj", 3}}),
            file +
                "rank_pattern has the pattern '.*_proj'; accepted are names of modules or their "
                "ends, without other regular expressions");
  EXPECT_EQ(error_with("alpha_pattern", {{"q_proj", 3}, {"self_attn.q_proj", 4}}),
            in_tensor("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
                      "alpha_pattern: fits the patterns 'q_proj' and 'self_attn.q_proj'; accepted "
                      "are patterns that agree"));
  adapter_.config.erase("r");
  EXPECT_EQ(error(), file + "r is missing; accepted is an integer, 1 .. 1048576");
}

TEST_F(LoraErrors, files_that_are_not_there) {
  const formats::testing::ScratchFolder folder;
  auto checkpoint = Checkpoint::open(golden("llama")).value();
  linear::ThreadPool threads(1);
  const auto error_of = [&](const std::string& path) {
    return to_string(checkpoint.merge(std::vector{LoraSource{path}}, threads).error());
  };
  EXPECT_EQ(error_of(folder.path()),
            folder.path() + "/adapter_config.json: cannot be opened: No such file or directory");
  folder.write("adapter_config.json", adapter_.config.dump());
  EXPECT_EQ(
      error_of(folder.path()),
      folder.path() + "/adapter_model.safetensors: cannot be opened: No such file or directory");
  EXPECT_TRUE(checkpoint.notes().empty()) << "nothing has changed";
  EXPECT_TRUE(checkpoint.merge(std::vector{LoraSource{golden_lora("llama_all")}}, threads));
}

TEST(LoraOfHeads, a_base_that_has_the_layer_by_heads_refuses_it) {
  EditableAdapter adapter("llama_root");
  adapter.tensors.clear();
  const std::string name = "base_model.model.model.layers.0.self_attn.kv_b_proj";
  adapter.tensors[name + ".lora_A.weight"] = floats({7, 20}, std::vector<float>(7 * 20));
  adapter.tensors[name + ".lora_B.weight"] = floats({44, 7}, std::vector<float>(44 * 7));
  adapter.config["target_modules"] = nullptr;
  EXPECT_EQ(adapter.error(golden("deepseek_v3")), "");
  EXPECT_EQ(adapter.error(golden("deepseek_v3") + "/model.gguf"),
            in_tensor(name + ".lora_A.weigh...",
                      "is for 'model.layers.0.self_attn.kv_b_proj', which this base has head by "
                      "head; accepted is a base that has it in one matrix"));
}

TEST(LoraConfig, patterns_are_ends_of_names_from_a_point_on) {
  const detail::ModuleNumbers numbers{
      8, {{"mlp.up_proj", 2}, {"^model.layers.0.q_proj", 3}, {"down", 4}}};
  EXPECT_EQ(numbers.of("model.layers.3.mlp.up_proj"), 2);
  EXPECT_EQ(numbers.of("model.layers.0.q_proj"), 3);
  EXPECT_EQ(numbers.of("a.model.layers.0.q_proj"), 8);
  EXPECT_EQ(numbers.of("model.layers.3.countdown"), 8);
  EXPECT_EQ(numbers.of("down"), 4);
}

}  // namespace
}  // namespace forge::checkpoint
