#include "hf_parts.h"

namespace forge::checkpoint::detail::hf {
namespace {

using Method = HfQuantization::Method;

/// 4-bit codes in groups; -1 is the file's way to say one group a layer.
HfQuantization read_groups_of(Method method, const json::Fields& fields) {
  fields.integer("bits", {4, 4});
  const int group_size = fields.integer("group_size", {-1, model::kSizeMax});
  if (group_size != -1 && group_size != 16 && (group_size == 0 || group_size % 32 != 0)) {
    fields.fail("group_size", "-1, 16, or a multiple of 32");
  }
  return {.method = method, .group_size = group_size == -1 ? 0 : group_size};
}

/// compressed-tensors: 8-bit codes with one scale an output. What it says of activations is not
/// about what the file holds.
HfQuantization read_int8(const json::Fields& fields) {
  fields.one_of("format", {"int-quantized", "naive-quantized"});
  const auto groups = fields.object("config_groups");
  if (!groups) {
    fields.fail("config_groups", "an object");
    return {};
  }
  for (const json::Fields& group : groups->objects()) {
    const auto weights = group.object("weights");
    if (!weights) {
      group.fail("weights", "an object");
      return {};
    }
    weights->integer("num_bits", {8, 8});
    weights->one_of("type", {"int"});
    weights->one_of("strategy", {"channel"});
    if (!weights->boolean("symmetric", true)) weights->fail("symmetric", "true");
  }
  return {.method = Method::int8};
}

}  // namespace

HfQuantization read_quantization(const json::Fields& fields) {
  const auto quantization = fields.object("quantization_config");
  if (!quantization) return {};
  const std::string_view method =
      quantization->one_of("quant_method", {"gptq", "awq", "compressed-tensors"});
  if (method == "compressed-tensors") return read_int8(*quantization);
  if (method == "awq") {
    if (quantization->has("version")) quantization->one_of("version", {"gemm", "GEMM"});
    return read_groups_of(Method::awq, *quantization);
  }
  if (quantization->has("checkpoint_format")) quantization->one_of("checkpoint_format", {"gptq"});
  return read_groups_of(Method::gptq, *quantization);
}

}  // namespace forge::checkpoint::detail::hf
