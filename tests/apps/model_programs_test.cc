// forge-model as a user runs it: what it says of models, and whether those that it writes are the
// ones that it read.
#include "apps/model_programs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "forge/linear/thread_pool.h"
#include "forge/model/packed_model.h"
#include "forge/text/load_tokenizer.h"
#include "trained_checkpoints.h"

namespace forge::testing {
namespace {

using nlohmann::json;

using ModelPrograms = ModelProgramTest;

/// What GGUF can say: all but layers without experts between those with them (qwen3_moe), and
/// temperatures of YaRN that are not one (deepseek_v2).
const std::vector<std::string> kOfGguf{
    "llama",     "llama_bf16",   "llama_sharded",    "llama3_rope",  "mistral", "mistral_sliding",
    "qwen2",     "qwen3",        "deepseek_v2_lite", "deepseek_v3",  "olmo2",   "granite",
    "glm4",      "gemma2",       "gemma3",           "mixtral",      "smollm3", "phi3",
    "phi3_long", "llama_biases", "qwen2_windows",    "gpt_oss_codes"};

const std::vector<std::string> kAll{"llama",   "llama_bf16",  "llama3_rope", "mistral",
                                    "qwen2",   "qwen3",       "qwen3_moe",   "olmo2",
                                    "granite", "deepseek_v2", "deepseek_v3"};

/// What the tensors of a path are, by name.
std::map<std::string, std::pair<std::string, std::string>> tensors_at(const std::string& path) {
  std::map<std::string, std::pair<std::string, std::string>> tensors;
  const auto file = checkpoint::TensorFile::open(path);
  EXPECT_TRUE(file.has_value()) << to_string(file.error());
  for (const formats::Tensor& tensor : file->tensors()) {
    tensors[tensor.name] = {
        to_string(tensor),
        std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size())};
  }
  return tensors;
}

TEST_F(ModelPrograms, info_says_what_a_model_is) {
  const json llama = info(golden("llama"));
  EXPECT_EQ(llama["file"]["format"], "SafeTensors");
  EXPECT_EQ(llama["model"]["attention"], "grouped-query");
  EXPECT_EQ(llama["model"]["heads"], 4);
  EXPECT_EQ(llama["model"]["kv_heads"], 2);
  // Embedding and head 96 x 32; three layers of Q and O 32 x 32, K and V 16 x 32, an MLP of
  // three 64 x 32 and two norms of 32; the last norm.
  EXPECT_EQ(llama["size"]["parameters"],
            2 * 96 * 32 + 3 * (2 * 32 * 32 + 2 * 16 * 32 + 3 * 64 * 32 + 2 * 32) + 32);
  EXPECT_EQ(llama["size"]["bits_a_weight"], 32);
  EXPECT_EQ(llama["size"]["kv_token_bytes"], 3 * 2 * 2 * 8 * 4);
  EXPECT_EQ(llama["tensors"].size(), 30u);

  const json deepseek = info(golden("deepseek_v3"));
  EXPECT_EQ(deepseek["model"]["attention"], "latent");
  EXPECT_EQ(deepseek["size"]["kv_token_bytes"], 3 * (20 + 16) * 4);
  // In two of three layers a token meets 4 of 12 experts.
  EXPECT_EQ(
      deepseek["size"]["parameters"].get<int>() - deepseek["size"]["active_parameters"].get<int>(),
      2 * 8 * 3 * 12 * 32);
  const json by_heads = info(golden("deepseek_v3") + "/model.gguf");
  EXPECT_EQ(by_heads["size"]["parameters"], deepseek["size"]["parameters"]);

  const Outcome text = forge_model("info --tensors " + golden("llama3_rope") + "/model.gguf");
  EXPECT_EQ(text.status, 0);
  for (const char* part : {"GGUF 3", "multi-query", "adjacent", "tied to the embedding",
                           "blk.1.ffn_down.weight", "[32, 64]"}) {
    EXPECT_TRUE(has(text, part)) << part << '\n' << text.output;
  }
}

TEST_F(ModelPrograms, info_knows_how_much_memory_products_will_take) {
  linear::ThreadPool threads(1);
  std::vector<std::string> names = kAll;
  for (const char* const name : {"deepseek_v2_lite/model.gguf", "deepseek_v3/model.gguf"}) {
    names.emplace_back(name);
  }
  for (const std::string& name : names) {
    const auto checkpoint = checkpoint::Checkpoint::open(golden(name));
    ASSERT_TRUE(checkpoint.has_value()) << to_string(checkpoint.error());
    EXPECT_EQ(info(golden(name))["size"]["packed_bytes"],
              pack(checkpoint->config(), checkpoint->model(), threads)->bytes())
        << name;
  }
}

TEST_F(ModelPrograms, info_lists_what_is_in_a_file_that_it_does_not_understand) {
  std::filesystem::copy(golden("llama"), path("model"));
  std::string config = read_file(golden("llama") + "/config.json");
  config.replace(config.find("\"llama\""), 7, "\"mamba\"");
  std::ofstream(path("model/config.json")) << config;
  const Outcome outcome = forge_model("info " + path("model"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(has(outcome, "not understood")) << outcome.output;
  EXPECT_TRUE(has(outcome, "mamba")) << outcome.output;
  EXPECT_TRUE(has(outcome, "model.layers.2.mlp.down_proj.weight")) << outcome.output;
}

/// Whether the weights come back as they were: codes of GGUF are written to SafeTensors as F16.
bool is_plain(const std::string& name) { return name != "gpt_oss_codes_mxfp4"; }

TEST_F(ModelPrograms, convert_to_gguf_and_back_gives_the_same_tensors_and_files) {
  for (const std::string& name : kOfGguf) {
    const std::string gguf = path(name + ".gguf");
    write_model("convert " + golden(name) + " " + gguf);
    write_model("convert " + gguf + " " + path(name));
    if (is_plain(name)) {
      EXPECT_EQ(tensors_at(path(name)), tensors_at(golden(name))) << name;
    }
    EXPECT_EQ(json::parse(read_file(path(name) + "/config.json")),
              json::parse(read_file(golden(name) + "/config.json")))
        << name;
  }
}

TEST_F(ModelPrograms, convert_writes_what_llama_cpps_converter_writes) {
  for (const std::string name : {"llama", "llama3_rope", "qwen2", "deepseek_v3"}) {
    write_model("convert " + golden(name) + " " + path(name + ".gguf"));
    const std::string theirs = golden(name) + "/model.gguf";
    auto ours = tensors_at(path(name + ".gguf"));
    auto expected = tensors_at(theirs);
    // Its divisors come from another order of operations.
    EXPECT_EQ(ours.erase("rope_freqs.weight"), expected.erase("rope_freqs.weight"));
    EXPECT_EQ(ours, expected) << name;
    const auto our_model = checkpoint::Checkpoint::open(path(name + ".gguf"));
    const auto their_model = checkpoint::Checkpoint::open(theirs);
    ASSERT_TRUE(our_model && their_model);
    model::ModelConfig config = our_model->config();
    if (const auto* tabled = std::get_if<model::TabledRope>(&config.rope.scaling)) {
      const auto& divisors =
          std::get<model::TabledRope>(their_model->config().rope.scaling).divisors;
      ASSERT_EQ(tabled->divisors.size(), divisors.size());
      for (std::size_t i = 0; i < divisors.size(); ++i) {
        EXPECT_NEAR(tabled->divisors[i], divisors[i], 4 * 0x1p-24F * divisors[i]);
      }
      config.rope.scaling = their_model->config().rope.scaling;
    }
    EXPECT_EQ(config, their_model->config()) << name;
  }
}

/// Every golden model that has a GGUF file by llama.cpp's converter.
std::vector<std::string> golden_gguf() {
  std::vector<std::string> names;
  for (const auto& folder : std::filesystem::directory_iterator(golden(""))) {
    if (std::filesystem::exists(folder.path() / "model.gguf")) {
      names.push_back(folder.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_F(ModelPrograms, a_config_json_can_be_made_from_a_gguf_file_that_has_none) {
  EXPECT_EQ(golden_gguf(),
            (std::vector<std::string>{"deepseek_v2_lite", "deepseek_v3", "gpt_oss_codes",
                                      "gpt_oss_codes_mxfp4", "llama", "llama3_rope", "qwen2"}));
  for (const std::string& name : golden_gguf()) {
    if (name == "llama3_rope") continue;  // is refused, below
    write_model("convert " + golden(name) + "/model.gguf " + path(name));
    if (is_plain(name)) {
      EXPECT_EQ(tensors_at(path(name)), tensors_at(golden(name))) << name;
    }
    const auto ours = checkpoint::Checkpoint::open(path(name));
    const auto expected = checkpoint::Checkpoint::open(golden(name));
    ASSERT_TRUE(ours && expected) << to_string(ours.error());
    EXPECT_EQ(ours->config(), expected->config()) << name;
    EXPECT_TRUE(ours->unused().empty()) << name;
  }
  const Outcome refused =
      forge_model("convert " + golden("llama3_rope") + "/model.gguf " + path("llama3_rope"));
  EXPECT_EQ(refused.status, 2);
  EXPECT_TRUE(has(refused, "original_max_position_embeddings 8192")) << refused.output;
  EXPECT_FALSE(std::filesystem::exists(path("llama3_rope")));
}

TEST_F(ModelPrograms, latents_and_experts_keep_their_logits_to_the_bit_outside_of_gguf) {
  const std::vector<std::uint32_t> tokens{1, 17, 3, 90, 45, 8, 8, 61, 2, 33};
  for (const std::string name : {"deepseek_v2_lite", "deepseek_v3"}) {
    const std::string gguf = golden(name) + "/model.gguf";
    write_model("convert " + gguf + " " + path(name));
    EXPECT_EQ(dump(path(name), tokens, "logits").points.front().values,
              dump(gguf, tokens, "logits").points.front().values)
        << name;
  }
}

TEST_F(ModelPrograms, latents_stay_as_they_lie_from_gguf_to_gguf) {
  for (const std::string name : {"deepseek_v2_lite", "deepseek_v3"}) {
    const std::string gguf = golden(name) + "/model.gguf";
    write_model("convert " + gguf + " " + path(name + ".gguf"));
    EXPECT_EQ(tensors_at(path(name + ".gguf")), tensors_at(gguf));
  }
}

TEST_F(ModelPrograms, a_deepseek_of_gguf_has_all_its_keys_in_config_json) {
  write_model("convert " + golden("deepseek_v3") + "/model.gguf " + path("v3"));
  const json v3 = json::parse(read_file(path("v3") + "/config.json"));
  const json expected = json::parse(R"({"architectures": ["DeepseekV3ForCausalLM"],
      "model_type": "deepseek_v3", "n_routed_experts": 12, "n_group": 4, "topk_group": 2,
      "scoring_func": "sigmoid", "topk_method": "noaux_tc", "norm_topk_prob": true})");
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(v3.value(key, json()), value) << key;
  for (const char* key : {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
                          "v_head_dim", "n_shared_experts", "routed_scaling_factor",
                          "first_k_dense_replace", "moe_intermediate_size"}) {
    EXPECT_EQ(v3.value(key, json()),
              json::parse(read_file(golden("deepseek_v3") + "/config.json")).value(key, json()))
        << key;
  }
}

TEST_F(ModelPrograms, a_converted_model_says_the_golden_tokens) {
  for (const std::string& name : kOfGguf) {
    const bool has_own = std::filesystem::exists(golden(name) + "/golden.json");
    const std::string folder = has_own ? name : "llama";
    const json expected = json::parse(read_file(golden(folder) + "/golden.json"));
    std::vector<std::uint32_t> tokens = expected["tokens"];
    const std::vector<std::uint32_t> greedy = expected["greedy"]["tokens"];
    const std::size_t first = tokens.size() - 1;
    tokens.insert(tokens.end(), greedy.begin(), greedy.end() - 1);
    write_model("convert " + golden(name) + " " + path(name + ".gguf"));
    // Each token is the best after those before it, so all are what greedy decoding gives.
    const std::vector<std::uint32_t> best = best_tokens(path(name + ".gguf"), tokens);
    EXPECT_EQ(std::vector(best.begin() + static_cast<std::ptrdiff_t>(first), best.end()), greedy)
        << name;
  }
}

TEST_F(ModelPrograms, convert_changes_types_and_says_what_does_not_fit) {
  write_model("convert --type BF16 " + golden("llama") + " " + path("bf16"));
  EXPECT_EQ(tensors_at(path("bf16")), tensors_at(golden("llama_bf16")));
  write_model("convert --type F32 " + golden("llama_bf16") + " " + path("f32"));
  EXPECT_EQ(tensors_at(path("f32")), tensors_at(golden("llama")));
  EXPECT_EQ(info(path("bf16"))["file"]["types"].size(), 1u);

  edit_tensor("model.layers.1.self_attn.v_proj.weight", 5 * 32 + 7, 65520);
  const Outcome too_large =
      forge_model("convert --type F16 " + path("edited") + " " + path("f16.gguf"));
  EXPECT_EQ(too_large.status, 2);
  EXPECT_TRUE(has(too_large, "'model.layers.1.self_attn.v_proj.weight' at [5, 7] is 65520"))
      << too_large.output;
  EXPECT_FALSE(std::filesystem::exists(path("f16.gguf")));
  EXPECT_FALSE(std::filesystem::exists(path("f16.gguf.part")));
}

TEST_F(ModelPrograms, a_weight_that_is_no_number_is_named_before_it_is_computed_with) {
  edit_tensor("model.layers.1.self_attn.v_proj.weight", 5 * 32 + 7, NAN);
  const Outcome refused = forge_model("dump " + path("edited") + " --tokens 1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_TRUE(has(refused,
                  "edited/model.safetensors: tensor "
                  "'model.layers.1.self_attn.v_proj.weight': has nan at [5, 7]; accepted "
                  "are finite numbers"))
      << refused.output;
  edit_tensor("model.norm.weight", 3, -INFINITY);
  const Outcome norm = forge_model("info " + path("edited"));
  EXPECT_TRUE(has(norm, "'model.norm.weight': has -inf at [3]")) << norm.output;
}

TEST_F(ModelPrograms, quantize_refuses_numbers_that_are_none) {
  for (const float value : {NAN, INFINITY}) {
    edit_tensor("model.layers.2.mlp.up_proj.weight", 3 * 32 + 1, value);
    const Outcome refused =
        forge_model("quantize --type Q8_0 " + path("edited") + " " + path("q.gguf"));
    EXPECT_EQ(refused.status, 2);
    EXPECT_TRUE(has(refused, "'model.layers.2.mlp.up_proj.weight' at [3, 1] is "))
        << refused.output;
    EXPECT_FALSE(std::filesystem::exists(path("q.gguf.part")));
  }
}

class TrainedModelPrograms : public ModelProgramTest,
                             public ::testing::WithParamInterface<TrainedCheckpoint> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_skip(); !why.empty()) GTEST_SKIP() << why;
    ModelProgramTest::SetUp();
  }
};

TEST_P(TrainedModelPrograms, keep_their_text_in_gguf_and_nearly_all_of_it_in_8_bits) {
  const std::string stories = GetParam().folder;
  write_model("convert " + stories + " " + path("s.gguf"));
  write_model("quantize --type Q8_0 " + stories + " " + path("q.gguf"));
  const auto tokenizer = text::load_tokenizer(stories);
  const auto file = formats::Gguf::open(path("s.gguf"));
  ASSERT_TRUE(tokenizer && file);
  const auto converted = text::load_tokenizer(*file);
  ASSERT_TRUE(converted.has_value()) << to_string(converted.error());
  int tokens = 0;
  int kept = 0;
  const json expected = json::parse(read_file(stories + "/golden.json"));
  for (const json& one : expected["cases"]) {
    const std::string text = one["text"];
    EXPECT_EQ((*converted)->encode(text).value(), (*tokenizer)->encode(text).value());
    std::vector<std::uint32_t> ids;
    const auto encoded = (*tokenizer)->encode(text).value();
    for (const TokenId token : encoded) ids.push_back(token.value);
    const std::vector<std::uint32_t> best = best_tokens(stories, ids);
    EXPECT_EQ(best_tokens(path("s.gguf"), ids), best);
    const std::vector<std::uint32_t> coarse = best_tokens(path("q.gguf"), ids);
    tokens += static_cast<int>(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) kept += coarse[i] == best[i] ? 1 : 0;
  }
  EXPECT_GT(kept, tokens * 95 / 100) << "of " << tokens;
  for (const std::string text : {"", " ", "a  b", "\n\n", "caf\xc3\xa9 <s> 12,345", "<0x41>"}) {
    EXPECT_EQ((*converted)->encode(text).value(), (*tokenizer)->encode(text).value()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, TrainedModelPrograms, both_trained_checkpoints(), label_of);

TEST_F(ModelPrograms, unusable_arguments_exit_with_2_and_say_why) {
  std::ofstream(path("there.gguf")) << "x";
  const std::string llama = golden("llama");
  const auto expect_unusable = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = forge_model(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << '\n' << outcome.output;
    EXPECT_TRUE(has(outcome, part)) << outcome.output;
  };
  expect_unusable("", "A subcommand is required");
  expect_unusable("info nowhere", "PATH: nowhere: is neither a directory nor a file named");
  expect_unusable("info nowhere.gguf", "nowhere.gguf: ");
  expect_unusable("convert " + llama, "OUT is required");
  expect_unusable("convert " + llama + " " + path("there.gguf"), "is there already; --force");
  expect_unusable("convert " + llama + " " + path("x.safetensors"), "ends in .safetensors");
  expect_unusable("convert " + llama + " " + llama, "is IN");
  expect_unusable("convert --type Q8_0 " + llama + " " + path("x.gguf"),
                  "--type: 'Q8_0' is none of F32, F16, BF16");
  expect_unusable("quantize " + llama + " " + path("x.gguf"), "--type is required");
  expect_unusable("quantize --type Q3_K_S " + llama + " " + path("x.gguf"),
                  "--type: 'Q3_K_S' is none of Q8_0, Q6_K, Q5_K_M, Q5_K, Q5_1, Q5_0, Q4_K_M, Q4_K, "
                  "Q4_1, Q4_0, Q3_K_M, Q3_K, Q2_K, IQ4_NL, IQ4_XS, MXFP4");
  expect_unusable("quantize --type Q8_0 " + llama + " " + path("x"), "accepted is NAME.gguf");
  expect_unusable("convert " + golden("deepseek_v2") + " " + path("x.gguf"),
                  "GGUF cannot say this model: rope.scaling.attention_factor is 1.0");
  expect_unusable("convert " + golden("qwen3_moe") + " " + path("x.gguf"),
                  "experts.dense_layers is [ 1 0 0 ] and would be read as [ 0 0 0 ]");
  expect_unusable(
      "random --config gpt-5 " + path("x.gguf"),
      "neither a file nor one of deepseek-v2-lite, llama-3-8b, llama-3.2-1b, qwen2.5-0.5b, "
      "qwen3-30b-a3b, tinyllama-1.1b");
  expect_unusable("random --config " + llama + "/config.json --type Q4_K " + path("x"),
                  "'Q4_K' is none of F32, F16, BF16");
  expect_unusable("dump " + llama, "--prompt or --tokens is needed");
  expect_unusable("dump " + llama + " --tokens 96", "token 96; accepted are 0 to 95");
  expect_unusable("dump " + llama + " --tokens 1 --layer 3", "--layer 3: accepted are 0 to 2");
  expect_unusable("dump " + llama + " --tokens 1 --points keys", "'keys' is none of embedding");
  expect_unusable("dump " + llama + " --prompt hello", "tokenizer.json");
  EXPECT_EQ(read_file(path("there.gguf")), "x");
}

TEST_F(ModelPrograms, info_says_forms_and_what_is_assumed) {
  const json llama = info(golden("llama"));
  EXPECT_EQ(llama["forms"]["F32"]["packed_as"], "f32");
  EXPECT_EQ(llama["forms"]["F32"]["matrices"], 2 + 3 * 7);
  EXPECT_EQ(llama["model"]["assumed"], json::array());
  write_model("quantize --type IQ4_NL " + golden("llama") + " " + path("m.gguf"));
  EXPECT_EQ(info(path("m.gguf"))["forms"]["IQ4_NL"]["packed_as"], "table4");
  const json latent = info(golden("deepseek_v3/model.gguf"));
  EXPECT_NE(latent["model"]["assumed"].dump().find("DeepSeek's epsilon"), std::string::npos);
  const Outcome text = forge_model("info " + golden("llama"));
  EXPECT_TRUE(has(text, "F32                   23 matrices, packed as f32")) << text.output;
  EXPECT_TRUE(has(text, "assumed               none")) << text.output;
  const Outcome windows = forge_model("info " + golden("gemma3"));
  EXPECT_TRUE(has(windows, "rope base with window ")) << windows.output;  // the longest key
}

TEST_F(ModelPrograms, force_overwrites) {
  std::ofstream(path("there.gguf")) << "x";
  write_model("convert --force " + golden("llama") + " " + path("there.gguf"));
  EXPECT_EQ(info(path("there.gguf"))["file"]["tensors"], 30);
}

TEST_F(ModelPrograms, a_write_that_is_interrupted_leaves_nothing) {
  for (const std::string name : {"x.gguf", "x"}) {
    const std::string part = path(name == "x" ? "x/model.safetensors.part" : "x.gguf.part");
    const Outcome outcome = run("{ " FORGE_MODEL " random --config tinyllama-1.1b " + path(name) +
                                " & for i in $(seq 3000); do [ -e " + part +
                                " ] && break; sleep 0.01; done; " + "kill -INT $!; wait $!; }");
    EXPECT_EQ(outcome.status, 130) << outcome.output;
    EXPECT_TRUE(has(outcome, "interrupted")) << outcome.output;
    EXPECT_FALSE(std::filesystem::exists(path(name)));
    EXPECT_FALSE(std::filesystem::exists(part));
  }
}

}  // namespace
}  // namespace forge::testing
