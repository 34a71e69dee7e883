// quantization_config: the forms that it can say, and those that are refused.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_edit.h"
#include "forge/checkpoint/hf_config.h"

namespace forge::checkpoint {
namespace {

using nlohmann::json;
using testing::golden;
using testing::json_file;

HfQuantization quantization_of(const json& config) {
  return parse_hf_config(config.dump(), "c").value().quantization;
}

TEST(HfQuantization, is_read_in_every_form_that_layers_have) {
  json llama = json_file(golden("llama") + "/config_published.json");
  using Method = HfQuantization::Method;
  llama["quantization_config"] = {
      {"quant_method", "gptq"}, {"bits", 4}, {"group_size", 128}, {"desc_act", true}};
  EXPECT_EQ(quantization_of(llama), (HfQuantization{Method::gptq, 128}));
  llama["quantization_config"]["group_size"] = -1;
  EXPECT_EQ(quantization_of(llama), (HfQuantization{Method::gptq, 0}));
  llama["quantization_config"]["group_size"] = 16;
  EXPECT_EQ(quantization_of(llama), (HfQuantization{Method::gptq, 16}));
  llama["quantization_config"] = {
      {"quant_method", "awq"}, {"bits", 4}, {"group_size", 64}, {"version", "gemm"}};
  EXPECT_EQ(quantization_of(llama), (HfQuantization{Method::awq, 64}));
  llama["quantization_config"] = {
      {"quant_method", "gptq"}, {"bits", 8}, {"group_size", 64}, {"checkpoint_format", "gptq_v2"}};
  EXPECT_EQ(quantization_of(llama), (HfQuantization{Method::gptq, 64, 8, true}));
  llama["quantization_config"] = json::parse(R"({
      "quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"a": {
        "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128,
                    "symmetric": false, "actorder": null}}}})");
  EXPECT_EQ(quantization_of(llama), (HfQuantization{Method::packed, 128, 4, false, false}));
  llama["quantization_config"] = json::parse(R"({
      "activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
      "weight_block_size": [128, 64]})");
  EXPECT_EQ(quantization_of(llama), (HfQuantization{Method::float8, 0, 4, false, true, 128, 64}));
  llama["quantization_config"] = json::parse(R"({
      "quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {"a": {
        "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}}})");
  EXPECT_EQ(quantization_of(llama), (HfQuantization{Method::float8}));
  llama["quantization_config"] = json::parse(R"({
      "quant_method": "compressed-tensors", "format": "int-quantized",
      "config_groups": {"group_0": {
          "weights": {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": true}}}})");
  EXPECT_EQ(quantization_of(llama), (HfQuantization{Method::int8, 0}));
}

TEST(HfQuantization, what_is_not_read_is_named) {
  const auto error = [](const std::string& config) -> std::string {
    json llama = json_file(golden("llama") + "/config_published.json");
    llama["quantization_config"] = json::parse(config);
    const auto parsed = parse_hf_config(llama.dump(), "c");
    return parsed ? "" : parsed.error().message;
  };
  EXPECT_EQ(error(R"({"quant_method": "bitsandbytes"})"),
            "quantization_config.quant_method is \"bitsandbytes\"; accepted is \"gptq\", \"awq\", "
            "\"compressed-tensors\", \"fp8\", \"fbgemm_fp8\", \"mxfp4\"");
  EXPECT_EQ(error(R"({"quant_method": "fp8", "fmt": "e5m2"})"),
            "quantization_config.fmt is \"e5m2\"; accepted is \"e4m3\"");
  EXPECT_EQ(
      error(R"({"quant_method": "fp8", "weight_block_size": [128]})"),
      "quantization_config.weight_block_size is a list of 1; accepted is a list of two sizes");
  EXPECT_EQ(
      error(R"({"quant_method": "compressed-tensors", "format": "float-quantized",
                      "config_groups": {}})"),
      "quantization_config.config_groups is an object; accepted is an object of at least one");
  EXPECT_EQ(error(R"({"quant_method": "gptq", "bits": 3, "group_size": 128})"),
            "quantization_config.bits is 3; accepted is 4 or 8");
  EXPECT_EQ(error(R"({"quant_method": "awq", "bits": 8, "group_size": 128})"),
            "quantization_config.bits is 8; accepted is 4");
  EXPECT_EQ(error(R"({"quant_method": "awq", "bits": 4, "group_size": 128, "backend": "llm-awq"})"),
            "quantization_config.backend is \"llm-awq\"; accepted is \"autoawq\"");
  EXPECT_EQ(error(R"({"quant_method": "gptq", "bits": 4, "group_size": 0})"),
            "quantization_config.group_size is 0; accepted is -1, 16, or a multiple of 32");
  EXPECT_EQ(error(R"({"quant_method": "awq", "bits": 4, "group_size": 48})"),
            "quantization_config.group_size is 48; accepted is -1, 16, or a multiple of 32");
  EXPECT_EQ(
      error(R"({"quant_method": "gptq", "bits": 4, "group_size": 128,
                      "checkpoint_format": "marlin"})"),
      "quantization_config.checkpoint_format is \"marlin\"; accepted is \"gptq\", \"gptq_v2\"");
  EXPECT_EQ(error(R"({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemv"})"),
            "quantization_config.version is \"gemv\"; accepted is \"gemm\", \"GEMM\"");
  EXPECT_EQ(error(R"({"quant_method": "compressed-tensors", "format": "marlin-24"})"),
            "quantization_config.format is \"marlin-24\"; accepted is \"int-quantized\", "
            "\"naive-quantized\", \"pack-quantized\", \"float-quantized\"");
  const auto packed_error = [&](const std::string& groups) {
    return error(R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
                     "config_groups": {)" +
                 groups + "}}");
  };
  EXPECT_EQ(
      packed_error(R"("a": {"weights": {"num_bits": 2, "type": "int", "strategy": "channel"}})"),
      "quantization_config.config_groups.a.weights.num_bits is 2; accepted is 4 or 8");
  EXPECT_EQ(packed_error(R"("a": {"weights": {"num_bits": 4, "type": "int", "strategy": "channel"}},
                            "b": {"weights": {"num_bits": 8, "type": "int", "strategy": "channel"}})")
                .substr(0, 35),
            "quantization_config.config_groups i");
  EXPECT_EQ(error(R"({"quant_method": "compressed-tensors", "format": "int-quantized",
                      "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int",
                      "strategy": "channel", "symmetric": false}}}})"),
            "quantization_config.config_groups.group_0.weights.symmetric is false; accepted is "
            "true");
}

}  // namespace
}  // namespace forge::checkpoint
