#include <cmath>
#include <vector>

#include "forge/quant/dequantize.h"
#include "gguf_parts.h"

namespace forge::checkpoint::detail {
namespace {

constexpr double kBaseDefault = 10000;
constexpr const char* kTable = "rope_freqs.weight";

std::vector<float> read_divisors(GgufFields& fields, const formats::Tensor& tensor, int size) {
  const auto pairs = static_cast<std::uint64_t>(size) / 2;
  if (tensor.type != formats::ElementType::f32 || tensor.shape != std::vector{pairs}) {
    fields.fail_with(tensor.name + " is " + to_string(tensor) + "; needed is F32[" +
                     std::to_string(pairs) + "]");
    return {};
  }
  std::vector<float> divisors(pairs);
  quant::dequantize(quant::WeightType::f32, tensor.bytes.data(), divisors.size(), divisors.data());
  return divisors;
}

/// Everything but the attention_factor.
model::YarnRope read_ramp(GgufFields& fields, int positions) {
  model::YarnRope yarn;
  yarn.factor = fields.number("rope.scaling.factor", model::kRopeFactors);
  yarn.beta_fast = fields.number("rope.scaling.yarn_beta_fast", model::kRopeTurns, 32);
  yarn.beta_slow = fields.number("rope.scaling.yarn_beta_slow", model::kRopeTurns, 1);
  yarn.original_positions =
      fields.number("rope.scaling.original_context_length", model::kRopePositions, positions);
  fields.number("rope.scaling.yarn_ext_factor", {1, 1}, 1);
  return yarn;
}

model::YarnRope read_yarn(GgufFields& fields, int positions) {
  model::YarnRope yarn = read_ramp(fields, positions);
  fields.number("rope.scaling.yarn_log_multiplier", {0, 0}, 0);
  yarn.attention_factor = (0.1 * std::log(yarn.factor) + 1) *
                          fields.number("rope.scaling.attn_factor", model::kScales, 1) *
                          fields.number("rope.scaling.yarn_attn_factor", model::kScales, 1);
  return yarn;
}

}  // namespace

model::RopeConfig read_gguf_rope(GgufFields& fields, model::RopePairing pairing, int head_size,
                                 int positions) {
  model::RopeConfig rope;
  rope.size = fields.integer("rope.dimension_count", model::kHeadSizes, head_size);
  rope.base = fields.number("rope.freq_base", model::kRopeBases, kBaseDefault);
  rope.pairing = pairing;
  // Before there were types, the factor alone said that scaling is linear.
  const double factor = fields.number("rope.scale_linear", model::kRopeFactors, 1);
  const std::string type = fields.text("rope.scaling.type", factor == 1 ? "none" : "linear");
  if (type == "linear") {
    rope.scaling =
        model::LinearRope{fields.number("rope.scaling.factor", model::kRopeFactors, factor)};
  } else if (type == "yarn") {
    rope.scaling = read_yarn(fields, positions);
  } else if (type != "none") {
    fields.fail("rope.scaling.type", "'none', 'linear' or 'yarn'");
  }
  if (const formats::Tensor* const table = fields.gguf().find(kTable)) {
    if (type != "none") fields.fail("rope.scaling.type", "'none', as there is rope_freqs.weight");
    rope.scaling = model::TabledRope{read_divisors(fields, *table, rope.size)};
  }
  return rope;
}

GgufLatentRope read_gguf_latent_rope(GgufFields& fields, int positions) {
  GgufLatentRope out;
  out.rope.size = fields.integer("rope.dimension_count", model::kHeadSizes);
  out.rope.base = fields.number("rope.freq_base", model::kRopeBases, kBaseDefault);
  out.rope.pairing = model::RopePairing::adjacent;
  fields.number("rope.scale_linear", {1, 1}, 1);
  if (fields.has_tensor(kTable)) {
    fields.fail_with(std::string(kTable) + " is there; accepted is none with latent attention");
  }
  const std::string type = fields.text("rope.scaling.type", "none");
  if (type == "yarn") {
    constexpr model::NumberRange kMultipliers{1e-3, 10};
    model::YarnRope yarn = read_ramp(fields, positions);
    // 0.1 mscale_all_dim. mscale is not in the file and taken as equal, so that their quotient, by
    // which cosines and sines would be scaled, is 1. Without the key there is no telling what was
    // meant: transformers would scale cosines and sines, llama.cpp the scores as well.
    const double multiplier = fields.number("rope.scaling.yarn_log_multiplier", kMultipliers);
    fields.number("rope.scaling.attn_factor", {1, 1}, 1);
    fields.number("rope.scaling.yarn_attn_factor", {1, 1}, 1);
    out.latent_scale = std::pow(multiplier * std::log(yarn.factor) + 1, 2);
    out.rope.scaling = yarn;
  } else if (type != "none") {
    fields.fail("rope.scaling.type", "'none' or 'yarn'");
  }
  return out;
}

}  // namespace forge::checkpoint::detail
