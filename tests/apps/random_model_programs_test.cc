// Models that forge-model makes up, in all types and families, and what dump says of them.
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/model_programs.h"
#include "forge/checkpoint/hf_config.h"
#include "forge/model/stored_shapes.h"

namespace forge::testing {
namespace {

using nlohmann::json;

class RandomModels : public ModelProgramTest {
 protected:
  /// A llama whose rows are whole blocks of every type.
  std::string config(int layers, int ffn_size = 512) const {
    std::ofstream(path("config.json")) << json{{"model_type", "llama"},
                                               {"hidden_size", 256},
                                               {"intermediate_size", ffn_size},
                                               {"num_hidden_layers", layers},
                                               {"num_attention_heads", 4},
                                               {"num_key_value_heads", 2},
                                               {"vocab_size", 300},
                                               {"max_position_embeddings", 128},
                                               {"rms_norm_eps", 1e-5},
                                               {"tie_word_embeddings", false}};
    return path("config.json");
  }

  std::map<std::string, std::string> types(const std::string& model) const {
    std::map<std::string, std::string> types;
    const json said = info(model);
    for (const json& tensor : said["tensors"]) types[tensor["name"]] = tensor["type"];
    return types;
  }
};

/// Root of the mean squared difference over that of the mean square of b.
double relative_rms(const apps::DumpedPoint& a, const apps::DumpedPoint& b) {
  std::vector<float> differences;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    differences.push_back(a.values[i] - b.values[i]);
  }
  return apps::spread_of(differences).rms / apps::spread_of(b.values).rms;
}

const std::vector<std::uint32_t> kTokens{1, 17, 250, 3, 3, 99};

TEST_F(RandomModels, every_type_loads_runs_and_is_as_close_as_its_bits_allow) {
  write_model("random --config " + config(2) + " " + path("m"));
  const apps::Dump exact = dump(path("m"), kTokens, "logits");
  // Bits of a weight, and the relative error of one: the step of a format with that many levels
  // over 3.5 deviations on both sides is at most this.
  for (const auto& [type, bits, error] : {std::tuple{"Q8_0", 8.5, 0.01},
                                          {"Q6_K", 6.5625, 0.04},
                                          {"Q5_K", 5.5, 0.06},
                                          {"Q4_K", 4.5, 0.12},
                                          {"Q4_0", 4.5, 0.14},
                                          {"Q4_K_M", 4.5, 0.12},
                                          {"Q5_K_M", 5.5, 0.06},
                                          {"Q3_K_M", 3.4375, 0.25},
                                          {"IQ4_XS", 4.25, 0.13},
                                          {"Q2_K", 2.625, 0.4},
                                          {"Q3_K", 3.4375, 0.25},
                                          {"Q4_1", 5.0, 0.12},
                                          {"IQ4_NL", 4.5, 0.13},
                                          {"MXFP4", 4.25, 0.2}}) {
    const std::string out = path(std::string(type) + ".gguf");
    const std::string printed =
        write_model("quantize --type " + std::string(type) + " " + path("m") + " " + out);
    double total_bits = 0;
    double total_error = 0;
    std::istringstream(printed.substr(printed.find("\ntotal") + 6)) >> total_bits >> total_error;
    EXPECT_GT(total_error, 0) << type;
    EXPECT_LT(total_error, error) << type;
    EXPECT_GE(total_bits, bits) << type;
    EXPECT_LT(total_bits, bits + 1.1) << type;
    EXPECT_EQ(printed.find("note: blk"), printed.npos) << printed;
    // A logit has met 16 matrices, embedding and head included, whose errors are independent: their
    // squares add up. So do those of the activations, which products round to 8 bits: steps of
    // 1/127 of the largest of 32, here 3.5 deviations, are off by 1/sqrt(12) of a step.
    const double activations = 3.5 / 127 / std::sqrt(12.0);
    const double found =
        relative_rms(dump(out, kTokens, "logits").points.front(), exact.points.front());
    EXPECT_GT(found, 0) << type;
    EXPECT_LT(found, std::sqrt(16.0) * std::hypot(total_error, activations)) << type;
    write_model("random --force --type " + std::string(type) + " --config " + config(2) + " " +
                out);
    EXPECT_TRUE(
        std::isfinite(apps::spread_of(dump(out, kTokens, "logits").points.front().values).rms));
  }
}

TEST_F(RandomModels, q4_k_m_gives_more_bits_to_what_needs_them) {
  write_model("random --type Q4_K_M --config " + config(16) + " " + path("m.gguf"));
  const auto types_of = types(path("m.gguf"));
  std::string layers_with_more;
  for (int layer = 0; layer < 16; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    EXPECT_EQ(types_of.at(prefix + "ffn_down.weight"), types_of.at(prefix + "attn_v.weight"));
    EXPECT_EQ(types_of.at(prefix + "attn_q.weight"), "Q4_K");
    EXPECT_EQ(types_of.at(prefix + "attn_norm.weight"), "F32");
    if (types_of.at(prefix + "ffn_down.weight") == "Q6_K") {
      layers_with_more += std::to_string(layer) + " ";
    }
  }
  // The first two, the last two, and from the third on every third of the others.
  EXPECT_EQ(layers_with_more, "0 1 4 7 10 13 14 15 ");
  EXPECT_EQ(types_of.at("output.weight"), "Q6_K");
  EXPECT_EQ(types_of.at("token_embd.weight"), "Q4_K");
}

/// Layers in which `tensor` is of `type`.
std::string layers_of(const std::map<std::string, std::string>& types, int layers,
                      const std::string& tensor, const std::string& type) {
  std::string out;
  for (int layer = 0; layer < layers; ++layer) {
    if (types.at("blk." + std::to_string(layer) + "." + tensor + ".weight") == type) {
      out += std::to_string(layer) + " ";
    }
  }
  return out;
}

TEST_F(RandomModels, the_mixes_of_other_types_are_those_of_llama_cpp) {
  const auto types_with = [&](const std::string& mix) {
    write_model("random --force --type " + mix + " --config " + config(16) + " " + path("m.gguf"));
    return types(path("m.gguf"));
  };
  const auto q5 = types_with("Q5_K_M");
  EXPECT_EQ(layers_of(q5, 16, "ffn_down", "Q6_K"), "0 1 4 7 10 13 14 15 ");
  EXPECT_EQ(layers_of(q5, 16, "attn_v", "Q6_K"), "0 1 4 7 10 13 14 15 ");
  EXPECT_EQ(q5.at("blk.2.ffn_down.weight"), "Q5_K");
  EXPECT_EQ(q5.at("output.weight"), "Q6_K");
  const auto q3 = types_with("Q3_K_M");
  EXPECT_EQ(layers_of(q3, 16, "ffn_down", "Q5_K"), "0 ");
  EXPECT_EQ(layers_of(q3, 16, "attn_v", "Q5_K"), "0 1 ");
  EXPECT_EQ(q3.at("blk.9.ffn_down.weight"), "Q4_K");
  EXPECT_EQ(q3.at("blk.9.attn_v.weight"), "Q4_K");
  EXPECT_EQ(q3.at("blk.9.attn_output.weight"), "Q4_K");
  EXPECT_EQ(q3.at("blk.9.attn_q.weight"), "Q3_K");
  EXPECT_EQ(q3.at("token_embd.weight"), "Q3_K");
  EXPECT_EQ(q3.at("output.weight"), "Q6_K");
  const auto iq4 = types_with("IQ4_XS");
  EXPECT_EQ(layers_of(iq4, 16, "ffn_down", "Q5_K"), "0 1 ");
  EXPECT_EQ(iq4.at("blk.9.attn_q.weight"), "IQ4_XS");
  EXPECT_EQ(iq4.at("output.weight"), "Q6_K");
}

TEST_F(RandomModels, rows_that_are_no_whole_blocks_fall_back_and_are_named) {
  write_model("random --config " + config(1, 160) + " " + path("m"));
  for (const auto& [wanted, given] : {std::pair{"Q4_K", "Q5_0"}, std::pair{"Q5_K", "Q5_1"},
                                      std::pair{"Q6_K", "Q8_0"}, std::pair{"Q3_K", "IQ4_NL"}}) {
    const std::string printed = write_model("quantize --force --type " + std::string(wanted) + " " +
                                            path("m") + " " + path("q.gguf"));
    EXPECT_NE(printed.find("note: blk.0.ffn_down.weight is " + std::string(given) +
                           ": its rows of 160 numbers are no multiple of 256"),
              printed.npos)
        << printed;
    EXPECT_EQ(types(path("q.gguf")).at("blk.0.ffn_down.weight"), given);
  }
  write_model("random --force --config " + config(1, 100) + " " + path("m"));
  write_model("quantize --force --type Q4_0 " + path("m") + " " + path("q.gguf"));
  EXPECT_EQ(types(path("q.gguf")).at("blk.0.ffn_down.weight"), "F16");
}

TEST_F(RandomModels, weights_are_a_function_of_the_seed_alone) {
  const std::string command = "random --config " + config(2) + " ";
  for (const std::string type : {"F16", "Q4_K_M"}) {
    write_model(command + "--force --threads 1 --type " + type + " " + path("a.gguf"));
    write_model(command + "--force --threads 3 --type " + type + " " + path("b.gguf"));
    EXPECT_EQ(read_file(path("a.gguf")), read_file(path("b.gguf"))) << type;
    write_model(command + "--force --seed 2 --type " + type + " " + path("b.gguf"));
    EXPECT_NE(read_file(path("a.gguf")), read_file(path("b.gguf"))) << type;
  }
  write_model(command + "--force --type F32 " + path("a.gguf"));
  write_model(command + path("a"));
  write_model("convert " + path("a") + " " + path("c.gguf"));
  const auto made = formats::Gguf::open(path("a.gguf"));
  const auto converted = formats::Gguf::open(path("c.gguf"));
  ASSERT_TRUE(made && converted);
  for (const formats::Tensor& tensor : made->tensors()) {
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, converted->find(tensor.name)->bytes))
        << tensor.name;
  }
}

TEST_F(RandomModels, activations_stay_near_one) {
  write_model("random --config " + config(12) + " " + path("m"));
  const apps::Dump seen = dump(path("m"), kTokens, "layer,logits");
  for (const apps::DumpedPoint& point : seen.points) {
    EXPECT_GT(apps::spread_of(point.values).rms, 0.01) << point.name;
    EXPECT_LT(apps::spread_of(point.values).rms, 10) << point.name;
  }
}

TEST_F(RandomModels, every_family_can_be_made_up_and_run) {
  for (const std::string name : {"llama",
                                 "llama3_rope",
                                 "mistral_sliding",
                                 "qwen2",
                                 "qwen3",
                                 "qwen3_moe",
                                 "qwen3_moe_unnormed",
                                 "deepseek_v2",
                                 "deepseek_v2_lite",
                                 "deepseek_v3",
                                 "olmo2",
                                 "granite",
                                 "mixtral",
                                 "qwen2_moe",
                                 "smollm3",
                                 "phi3",
                                 "phi3_long",
                                 "olmo3",
                                 "glm4",
                                 "gemma2",
                                 "gemma3",
                                 "gpt_oss"}) {
    write_model("random --force --config " + golden(name) + "/config.json " + path("m"));
    EXPECT_EQ(info(path("m"))["size"]["parameters"], info(golden(name))["size"]["parameters"]);
    EXPECT_EQ(info(path("m"))["size"]["unused_tensors"], json::array());
    const apps::Dump seen = dump(path("m"), {1, 2, 3}, "embedding,logits");
    for (const apps::DumpedPoint& point : seen.points) {
      EXPECT_TRUE(std::ranges::all_of(point.values, [](float x) { return std::isfinite(x); }))
          << name << " " << point.name;
    }
  }
}

TEST_F(RandomModels, are_the_same_in_both_formats) {
  for (const std::string name :
       {"llama3_rope", "qwen3", "olmo2", "granite", "deepseek_v2_lite", "deepseek_v3", "mixtral",
        "smollm3", "phi3_long", "glm4", "gemma2", "gemma3", "gpt_oss_codes"}) {
    const std::string command = "random --force --config " + golden(name) + "/config.json ";
    write_model(command + path("m"));
    write_model(command + path("m.gguf"));
    // The order of a head's rows, and so of its sums, is another in some.
    const double different = relative_rms(dump(path("m.gguf"), {1, 2, 3}, "logits").points.front(),
                                          dump(path("m"), {1, 2, 3}, "logits").points.front());
    EXPECT_LT(different, 1e-5) << name;
  }
}

TEST_F(RandomModels, experts_are_stacked_in_gguf_and_unstacked_again) {
  json moe = json::parse(read_file(golden("qwen3_moe") + "/config.json"));
  moe["mlp_only_layers"] = json::array();
  std::ofstream(path("moe.json")) << moe;
  write_model("random --config " + path("moe.json") + " " + path("a"));
  write_model("convert " + path("a") + " " + path("a.gguf"));
  EXPECT_EQ(types(path("a.gguf")).count("blk.0.ffn_down_exps.weight"), 1u);
  write_model("convert " + path("a.gguf") + " " + path("b"));
  EXPECT_EQ(read_file(path("a/model.safetensors")), read_file(path("b/model.safetensors")));
  const Outcome same =
      forge_model("dump " + path("a") + " --tokens 1,2,3 --out " + path("d.safetensors"));
  EXPECT_EQ(same.status, 0) << same.output;
  const Outcome compared = forge_model("dump " + path("a.gguf") + " --tokens 1,2,3 --against " +
                                       path("d.safetensors") + " --tolerance 0");
  EXPECT_EQ(compared.status, 0) << compared.output;
}

TEST_F(RandomModels, built_in_shapes_have_the_published_numbers_of_parameters) {
  for (const auto& [name, parameters] : {std::pair{"tinyllama-1.1b", std::uint64_t{1100048384}},
                                         {"llama-3.2-1b", 1235814400},
                                         {"llama-3-8b", 8030261248},
                                         {"qwen3-30b-a3b", 30532122624},
                                         {"deepseek-v2-lite", 15706484224},
                                         {"qwen2.5-0.5b", 494032768}}) {
    const std::string file =
        FORGE_SOURCE_DIR "/src/apps/model/shapes/" + std::string(name) + ".json";
    const auto config = checkpoint::parse_hf_config(read_file(file), file);
    ASSERT_TRUE(config.has_value()) << to_string(config.error());
    EXPECT_EQ(apps::count_parameters(config->model, model_shapes(config->model)).total, parameters)
        << name;
  }
}

TEST_F(RandomModels, dump_names_the_first_point_that_differs) {
  const std::string base = "dump " + golden("llama") + " --tokens 1,2,3";
  const Outcome printed = forge_model(base + " --out " + path("d.safetensors"));
  EXPECT_EQ(printed.status, 0);
  for (const char* part : {"tokens 1 2 3", "embedding", "layer 2 mlp", "[3, 96]"}) {
    EXPECT_TRUE(has(printed, part)) << printed.output;
  }
  const Outcome same = forge_model(base + " --against " + path("d.safetensors"));
  EXPECT_EQ(same.status, 0);
  EXPECT_TRUE(has(same, "equal within 0.0001 at 12 points")) << same.output;

  edit_tensor("model.layers.1.self_attn.o_proj.weight", 0, 1);
  const std::string edited = "dump " + path("edited") + " --tokens 1,2,3 --against ";
  const Outcome other = forge_model(edited + path("d.safetensors"));
  EXPECT_EQ(other.status, 1);
  EXPECT_TRUE(has(other, "first different: layer 1 attention\n")) << other.output;
  const Outcome before =
      forge_model(edited + path("d.safetensors") + " --layer 0 --points attention,mlp,layer");
  EXPECT_EQ(before.status, 0) << before.output;
  EXPECT_TRUE(has(before, "at 3 points")) << before.output;
  EXPECT_EQ(forge_model(edited + path("d.safetensors") + " --tolerance 1000").status, 0);
  const Outcome tokens =
      forge_model("dump " + golden("llama") + " --tokens 1,2 --against " + path("d.safetensors"));
  EXPECT_EQ(tokens.status, 2);
  EXPECT_TRUE(has(tokens, "of other tokens")) << tokens.output;
}

}  // namespace
}  // namespace forge::testing
