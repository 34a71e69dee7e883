#include "hf_parts.h"

namespace forge::checkpoint::detail::hf {
namespace {

using Method = HfQuantization::Method;
using json::Fields;

/// Inputs that share a scale. Errors: products take 32 inputs, or 16, that share one.
int read_group_size(const Fields& fields) {
  const int group_size = fields.integer("group_size", {-1, model::kSizeMax});
  if (group_size != -1 && group_size != 16 && (group_size == 0 || group_size % 32 != 0)) {
    fields.fail("group_size", "-1, 16, or a multiple of 32");
  }
  return group_size == -1 ? 0 : group_size;  // the file's way to say one group a layer
}

int read_four_or_eight(const Fields& fields, std::string_view key) {
  const int bits = fields.integer(key, {1, 64});
  if (bits != 4 && bits != 8) fields.fail(key, "4 or 8");
  return bits == 8 ? 8 : 4;
}

HfQuantization read_awq(const Fields& fields) {
  if (fields.has("version")) fields.one_of("version", {"gemm", "GEMM"});
  if (fields.has("backend")) fields.one_of("backend", {"autoawq"});
  fields.integer("bits", {4, 4});
  return {.method = Method::awq, .group_size = read_group_size(fields)};
}

HfQuantization read_gptq(const Fields& fields) {
  const bool as_stored = fields.has("checkpoint_format") &&
                         fields.one_of("checkpoint_format", {"gptq", "gptq_v2"}) == "gptq_v2";
  const int bits = read_four_or_eight(fields, "bits");
  return {.method = Method::gptq,
          .group_size = read_group_size(fields),
          .bits = bits,
          .zeros_as_stored = as_stored};
}

/// Codes with one scale an output.
HfQuantization read_int8(const Fields& weights) {
  weights.integer("num_bits", {8, 8});
  weights.one_of("type", {"int"});
  weights.one_of("strategy", {"channel"});
  if (!weights.boolean("symmetric", true)) weights.fail("symmetric", "true");
  return {.method = Method::int8};
}

HfQuantization read_packed(const Fields& weights) {
  const int bits = read_four_or_eight(weights, "num_bits");
  weights.one_of("type", {"int"});
  const bool grouped = weights.one_of("strategy", {"group", "channel"}) == "group";
  return {.method = Method::packed,
          .group_size = grouped ? read_group_size(weights) : 0,
          .bits = bits,
          .symmetric = weights.boolean("symmetric", true)};
}

/// E4M3 whose blocks, of the sides that `key` says, share a scale; without it, rows or layers do.
HfQuantization read_float8(const Fields& fields, std::string_view key) {
  HfQuantization out{.method = Method::float8};
  if (!fields.has(key)) return out;
  const std::vector<std::int64_t> sides = fields.integers(key, {1, model::kSizeMax});
  if (sides.size() != 2) {
    fields.fail(key, "a list of two sizes");
    return out;
  }
  out.block_rows = static_cast<int>(sides[0]);
  out.block_columns = static_cast<int>(sides[1]);
  return out;
}

/// DeepSeek-V3's own words.
HfQuantization read_fp8(const Fields& fields) {
  if (fields.has("fmt")) fields.one_of("fmt", {"e4m3"});
  return read_float8(fields, "weight_block_size");
}

HfQuantization read_compressed_float8(const Fields& weights) {
  weights.integer("num_bits", {8, 8});
  weights.one_of("type", {"float"});
  const bool blocks = weights.one_of("strategy", {"channel", "tensor", "block"}) == "block";
  if (blocks && !weights.has("block_structure")) weights.fail("block_structure", "two sizes");
  return blocks ? read_float8(weights, "block_structure")
                : HfQuantization{.method = Method::float8};
}

HfQuantization read_weights(std::string_view format, const Fields& weights) {
  if (format == "pack-quantized") return read_packed(weights);
  const bool is_float =
      format == "float-quantized" ||
      (format == "naive-quantized" && weights.one_of("type", {"int", "float"}) == "float");
  return is_float ? read_compressed_float8(weights) : read_int8(weights);
}

/// compressed-tensors. What it says of activations is not about what the file holds.
HfQuantization read_compressed(const Fields& fields) {
  const std::string_view format = fields.one_of(
      "format", {"int-quantized", "naive-quantized", "pack-quantized", "float-quantized"});
  const auto groups = fields.object("config_groups");
  if (!groups) {
    fields.fail("config_groups", "an object");
    return {};
  }
  std::optional<HfQuantization> all;
  for (const Fields& group : groups->objects()) {
    const auto weights = group.object("weights");
    if (!weights) {
      group.fail("weights", "an object");
      return {};
    }
    const HfQuantization one = read_weights(format, *weights);
    if (all && *all != one) fields.fail("config_groups", "groups whose weights are stored alike");
    all = one;
  }
  if (!all) fields.fail("config_groups", "an object of at least one");
  return all.value_or(HfQuantization{});
}

}  // namespace

HfQuantization read_quantization(const Fields& fields) {
  const auto quantization = fields.object("quantization_config");
  if (!quantization) return {};
  const std::string_view method = quantization->one_of(
      "quant_method", {"gptq", "awq", "compressed-tensors", "fp8", "fbgemm_fp8", "mxfp4"});
  if (method == "compressed-tensors") return read_compressed(*quantization);
  if (method == "fp8") return read_fp8(*quantization);
  if (method == "mxfp4") return {.method = Method::mxfp4};
  if (method == "fbgemm_fp8") return {.method = Method::float8};
  return method == "awq" ? read_awq(*quantization) : read_gptq(*quantization);
}

}  // namespace forge::checkpoint::detail::hf
