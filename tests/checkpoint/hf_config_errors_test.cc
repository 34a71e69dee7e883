// What is wrong with a config.json, in the words that a user reads.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/hf_config.h"

namespace forge::checkpoint {
namespace {

using nlohmann::json;
using testing::golden;
using testing::json_file;

std::string config_error(const std::string& text) {
  const auto read = parse_hf_config(text, "c");
  return read ? "" : to_string(read.error()).substr(std::string("c: ").size());
}

/// The golden model's config with the members of `changes` (JSON) in place of its own.
std::string error_with(const std::string& model, const std::string& changes) {
  json config = json_file(golden(model) + "/config_published.json");
  config.update(json::parse(changes));
  return config_error(config.dump());
}

std::string error_without(const std::string& model, const std::string& key) {
  json config = json_file(golden(model) + "/config_published.json");
  config.erase(key);
  return config_error(config.dump());
}

TEST(HfConfigErrors, the_unchanged_models_have_none) {
  for (const char* const model : {"llama", "qwen2", "qwen3_moe", "deepseek_v2", "granite"}) {
    EXPECT_EQ(error_with(model, "{}"), "");
  }
}

TEST(HfConfigErrors, texts_that_are_no_object) {
  EXPECT_EQ(config_error(""), "at byte 0: is not JSON in or right after ''");
  EXPECT_EQ(config_error("{"), "at byte 1: is not JSON in or right after '{'");
  EXPECT_EQ(config_error("{\"rope_theta\": NaN}"),
            "at byte 15: is not JSON in or right after '{\"rope_theta\": N'");
  EXPECT_EQ(config_error("{\"rope_theta\": 1e400}"),
            "at byte 19: the number 1e400 is out of range; accepted are those up to 1.797e+308 in "
            "size");
  EXPECT_EQ(config_error("[]"), "is a list of 0; accepted is an object");
  EXPECT_EQ(config_error("{\"model_type\": \"llama\"}" + std::string(1, '\0') + "more"),
            "at byte 23: is not JSON: a zero byte");
  EXPECT_EQ(config_error(R"({"hidden_size": 32, "hidden_size": 64})"),
            "has the key 'hidden_size' twice");
  EXPECT_EQ(config_error(R"({"rope_scaling": {"factor": 2, "factor": 4}})"),
            "has the key 'factor' twice");
}

TEST(HfConfigErrors, files_that_are_too_large_are_not_parsed) {
  const formats::testing::ScratchFolder folder;
  const std::string path =
      folder.write("config.json", "{" + std::string(std::size_t{4} << 20, ' ') + "}");
  EXPECT_EQ(to_string(read_hf_config(folder.path()).error()),
            path + ": has 4194306 bytes; accepted are up to 4194304");
}

TEST(HfConfigErrors, links_to_nothing_are_said_to_be_some) {
  const formats::testing::ScratchFolder folder;
  folder.write("config.json",
               formats::testing::file_bytes(golden("llama") + "/config_published.json"));
  const std::string generation = folder.file("generation_config.json");
  std::filesystem::create_symlink("../blobs/0a1b", generation);
  EXPECT_EQ(to_string(read_hf_config(folder.path()).error()),
            generation + ": is a link to '../blobs/0a1b', where there is no file");
}

TEST(HfConfigErrors, families) {
  EXPECT_EQ(config_error("{}"), "model_type is missing; accepted is a text");
  EXPECT_EQ(error_with("llama", R"({"model_type": 7})"), "model_type is 7; accepted is a text");
  EXPECT_EQ(
      error_with("llama", R"({"model_type": "gpt_bigcode"})"),
      "model_type is \"gpt_bigcode\"; accepted is \"llama\", \"mistral\", \"qwen2\", "
      "\"qwen3\", \"qwen3_moe\", \"mixtral\", \"gpt_oss\", \"qwen2_moe\", \"smollm3\", "
      "\"phi3\", \"deepseek_v2\", \"deepseek_v3\", \"olmo2\", \"olmo3\", \"glm4\", \"gemma2\", "
      "\"gemma3_text\", \"granite\"");
}

TEST(HfConfigErrors, sizes_that_are_missing) {
  for (const char* const key : {"vocab_size", "hidden_size", "intermediate_size"}) {
    EXPECT_EQ(error_without("llama", key),
              std::string(key) + " is missing; accepted is an integer, 1 .. 1048576");
  }
  EXPECT_EQ(error_without("llama", "num_hidden_layers"),
            "num_hidden_layers is missing; accepted is an integer, 1 .. 1024");
  EXPECT_EQ(error_without("llama", "num_attention_heads"),
            "num_attention_heads is missing; accepted is an integer, 1 .. 1024");
  EXPECT_EQ(error_without("deepseek_v3", "kv_lora_rank"),
            "kv_lora_rank is missing; accepted is an integer, 1 .. 1048576");
  EXPECT_EQ(error_without("qwen3_moe", "num_experts"),
            "num_experts is missing; accepted is an integer, 1 .. 1024");
}

TEST(HfConfigErrors, values_of_another_kind) {
  const std::string accepted = "; accepted is an integer, 1 .. 1048576";
  for (const char* const value : {"\"32\"", "32.0", "true", "1e300", "-1", "0", "1048577",
                                  "18446744073709551615", "-9223372036854775808"}) {
    const std::string shown = value == std::string("1e300") ? "1e+300" : value;
    EXPECT_EQ(error_with("llama", std::string(R"({"hidden_size": )") + value + "}"),
              "hidden_size is " + shown + accepted);
  }
  EXPECT_EQ(error_with("llama", R"({"hidden_size": [32]})"),
            "hidden_size is a list of 1" + accepted);
  EXPECT_EQ(error_with("llama", R"({"hidden_size": {}})"), "hidden_size is an object" + accepted);
  EXPECT_EQ(error_with("llama", R"({"hidden_size": null})"), "hidden_size is missing" + accepted);
  EXPECT_EQ(error_with("llama", R"({"rms_norm_eps": -1e-5})"),
            "rms_norm_eps is -1e-05; accepted is a number, 0 .. 1");
  EXPECT_EQ(error_with("llama", R"({"rms_norm_eps": "1e-5"})"),
            "rms_norm_eps is \"1e-5\"; accepted is a number, 0 .. 1");
  EXPECT_EQ(error_with("llama", R"({"rope_theta": 1e300})"),
            "rope_theta is 1e+300; accepted is a number, 1 .. 1e+12");
  EXPECT_EQ(error_with("llama", R"({"tie_word_embeddings": 1})"),
            "tie_word_embeddings is 1; accepted is true or false");
  EXPECT_EQ(error_with("llama", R"({"eos_token_id": [2, -1]})"),
            "eos_token_id is a list of 2; accepted is an integer, 0 .. 4294967295, or a list of "
            "them");
  EXPECT_EQ(error_with("llama", R"({"rope_scaling": "yarn"})"),
            "rope_scaling is \"yarn\"; accepted is an object");
}

TEST(HfConfigErrors, a_value_is_shown_in_printable_ascii_and_cut) {
  EXPECT_EQ(error_with("llama", R"({"hidden_size": "\u0007\u00e9\u007f"})"),
            "hidden_size is \"\\u0007\\u00e9\\u007f\"; accepted is an integer, 1 .. 1048576");
  EXPECT_EQ(
      error_with("llama", R"({"hidden_size": ")" + std::string(200, 'x') + "\"}"),
      "hidden_size is \"" + std::string(63, 'x') + "...; accepted is an integer, 1 .. 1048576");
}

TEST(HfConfigErrors, heads) {
  EXPECT_EQ(error_with("llama", R"({"num_attention_heads": 0})"),
            "num_attention_heads is 0; accepted is an integer, 1 .. 1024");
  EXPECT_EQ(error_with("llama", R"({"num_key_value_heads": 3})"),
            "num_attention_heads is 4; accepted is a multiple of num_key_value_heads, 3");
  EXPECT_EQ(error_with("llama", R"({"num_key_value_heads": 8})"),
            "num_attention_heads is 4; accepted is a multiple of num_key_value_heads, 8");
  EXPECT_EQ(error_with("llama", R"({"head_dim": 7})"), "head_dim is 7; accepted is an even number");
  EXPECT_EQ(error_with("llama", R"({"head_dim": 258})"), "head_dim is 258; accepted is 1 .. 256");
  EXPECT_EQ(error_with("llama", R"({"head_dim": null, "hidden_size": 28})"),
            "hidden_size / num_attention_heads is 7; accepted is an even number");
  EXPECT_EQ(error_with("phi3", R"({"head_dim": 12})"),
            "head_dim * partial_rotary_factor is 9; accepted is an even number");
  EXPECT_EQ(error_with("deepseek_v3", R"({"qk_rope_head_dim": 5})"),
            "qk_rope_head_dim is 5; accepted is an even number");
  EXPECT_EQ(error_with("deepseek_v3", R"({"kv_lora_rank": 1024})"),
            "kv_lora_rank + qk_rope_head_dim is 1040; accepted is 1 .. 1024");
  EXPECT_EQ(error_with("deepseek_v3", R"({"num_attention_heads": 1024, "v_head_dim": 1024})"),
            "num_attention_heads * (qk_nope_head_dim + v_head_dim) is 1060864; accepted is 1 .. "
            "1048576");
  EXPECT_EQ(error_with("llama", R"({"head_dim": null, "num_attention_heads": 3,
                                    "num_key_value_heads": 3})"),
            "head_dim is missing; accepted is an integer, as hidden_size is no multiple of "
            "num_attention_heads");
}

TEST(HfConfigErrors, what_forge_does_not_compute) {
  EXPECT_EQ(error_with("llama", R"({"hidden_act": "gelu"})"),
            "hidden_act is \"gelu\"; accepted is \"silu\", \"gelu_pytorch_tanh\"");
  EXPECT_EQ(error_with("olmo2", R"({"mlp_bias": true})"), "mlp_bias is true; accepted is false");
  EXPECT_EQ(error_with("mistral", R"({"attention_bias": true})"),
            "attention_bias is true; accepted is false");
  EXPECT_EQ(error_with("deepseek_v3", R"({"attention_bias": true})"),
            "attention_bias is true; accepted is false");
  EXPECT_EQ(error_with("llama", R"({"partial_rotary_factor": 0.5})"),
            "partial_rotary_factor is 0.5; accepted is 1");
  EXPECT_EQ(error_with("gemma3", R"({"use_bidirectional_attention": true})"),
            "use_bidirectional_attention is true; accepted is false");
  EXPECT_EQ(error_with("gemma2", R"({"hidden_activation": "gelu"})"),
            "hidden_activation is \"gelu\"; accepted is \"silu\", \"gelu_pytorch_tanh\"");
  EXPECT_EQ(error_with("mistral_sliding", R"({"layer_types": ["full_attention", "chunked"]})"),
            "layer_types is a list of 2; accepted is \"full_attention\" or \"sliding_attention\" "
            "for each of the 2 layers");
  EXPECT_EQ(error_with("smollm3", R"({"no_rope_layers": [1, 0]})"),
            "no_rope_layers is a list of 2; accepted is a list of at least 5");
}

TEST(HfConfigErrors, bases_of_rope) {
  EXPECT_EQ(error_with("llama", R"({"rope_theta": 1})"), "");
  EXPECT_EQ(error_with("llama", R"({"rope_theta": 0.5})"),
            "rope_theta is 0.5; accepted is a number, 1 .. 1e+12");
  EXPECT_EQ(error_with("llama", R"({"rope_theta": 1, "rope_scaling": {"type": "yarn",
                "factor": 4}})"),
            "rope_theta is 1; accepted is above 1 with YaRN");
}

TEST(HfConfigErrors, scaling_of_rope) {
  EXPECT_EQ(error_with("llama", R"({"rope_scaling": {"type": "ntk", "factor": 2}})"),
            "rope_scaling.type is \"ntk\"; accepted is \"default\", \"linear\", \"llama3\", "
            "\"yarn\", \"dynamic\", \"longrope\", \"su\"");
  EXPECT_EQ(error_with("llama", R"({"rope_parameters": {"rope_type": "longrope"}})"),
            "rope_parameters.short_factor is missing; accepted is a list");
  EXPECT_EQ(error_with("phi3_long", R"({"rope_scaling": {"type": "su", "short_factor": [1, 2, 3, 4],
                                        "long_factor": [1, 2, 3]}})"),
            "long_factor is a table of 3; accepted is one for each pair, 4");
  EXPECT_EQ(error_with("phi3_long", R"({"rope_scaling": {"type": "su", "short_factor": [1, "x"],
                                        "long_factor": [1, 2, 3]}})"),
            "rope_scaling.short_factor is a list of 2; accepted is a list of numbers, 0.03125 .. "
            "1e+06");
  EXPECT_EQ(error_with("phi3_long", R"({"rope_scaling": {"type": "su", "short_factor": [0.01, 1],
                                        "long_factor": [1, 2, 3]}})"),
            "rope_scaling.short_factor is a list of 2; accepted is a list of numbers, 0.03125 .. "
            "1e+06");
  EXPECT_EQ(error_with("llama", R"({"rope_parameters": {"full_attention": {"rope_theta": 5}}})"),
            "rope_parameters.full_attention is an object; accepted is none: one rope for all "
            "layers");
  EXPECT_EQ(error_with("llama", R"({"rope_scaling": {"type": "linear"}})"),
            "rope_scaling.factor is missing; accepted is a number, 1 .. 1e+06");
  EXPECT_EQ(error_with("llama", R"({"rope_scaling": {"type": "linear", "factor": 0}})"),
            "rope_scaling.factor is 0; accepted is a number, 1 .. 1e+06");
  EXPECT_EQ(error_with("llama3_rope", R"({"rope_scaling": {"type": "llama3", "factor": 8,
                "low_freq_factor": 4, "high_freq_factor": 4,
                "original_max_position_embeddings": 48}})"),
            "rope_scaling.high_freq_factor is 4; accepted is above low_freq_factor, 4");
  EXPECT_EQ(error_with("llama", R"({"rope_scaling": {"type": "yarn", "factor": 4,
                "beta_fast": 1}})"),
            "rope_scaling.beta_fast is 1; accepted is above beta_slow, 1");
  EXPECT_EQ(error_with("llama", R"({"rope_scaling": {"type": "yarn",
                "original_max_position_embeddings": 384}})"),
            "max_position_embeddings / original_max_position_embeddings is 0.5; accepted is 1 .. "
            "1e+06");
}

TEST(HfConfigErrors, experts) {
  EXPECT_EQ(error_with("qwen3_moe", R"({"num_experts_per_tok": 9})"),
            "num_experts_per_tok is 9; accepted is 1 .. 8");
  EXPECT_EQ(error_with("qwen3_moe", R"({"mlp_only_layers": [3]})"),
            "mlp_only_layers is a list of 1; accepted is an integer, 0 .. 2, or a list of them");
  EXPECT_EQ(error_with("qwen3_moe", R"({"decoder_sparse_step": 0})"),
            "decoder_sparse_step is 0; accepted is an integer, 1 .. 1024");
  EXPECT_EQ(error_with("deepseek_v3", R"({"n_group": 5})"),
            "n_routed_experts is 12; accepted is a multiple of n_group, 5");
  EXPECT_EQ(error_with("deepseek_v3", R"({"topk_group": 5})"),
            "topk_group is 5; accepted is 1 .. 4");
  EXPECT_EQ(error_with("deepseek_v3", R"({"topk_group": 1})"),
            "num_experts_per_tok is 4; accepted is 1 .. 3");
  EXPECT_EQ(
      error_with("deepseek_v3", R"({"n_group": 12})"),
      "n_group is 12; accepted is at most half of n_routed_experts (12), as a group is scored "
      "by its two best");
  EXPECT_EQ(error_with("deepseek_v3", R"({"scoring_func": "softmax"})"),
            "scoring_func is \"softmax\"; accepted is \"sigmoid\"");
  EXPECT_EQ(error_with("deepseek_v3", R"({"topk_method": "greedy"})"),
            "topk_method is \"greedy\"; accepted is \"noaux_tc\"");
  EXPECT_EQ(error_with("deepseek_v2", R"({"norm_topk_prob": true})"),
            "norm_topk_prob is true; accepted is false");
  EXPECT_EQ(error_with("deepseek_v2", R"({"n_shared_experts": 1024,
                                          "moe_intermediate_size": 4096})"),
            "n_shared_experts is 1024; accepted is at most 1048576 rows of "
            "moe_intermediate_size together");
}

}  // namespace
}  // namespace forge::checkpoint
