#include <cmath>

#include "hf_parts.h"

namespace forge::checkpoint::detail {
namespace {

constexpr model::NumberRange kMscales{0, 100};

/// YaRN's temperature for a context `factor` times as long (arXiv:2309.00071, equation 22), with
/// the weight that DeepSeek gives the logarithm.
double temperature(double factor, double mscale) { return 0.1 * mscale * std::log(factor) + 1; }

/// As transformers derives it, where the checkpoint does not say: with both mscales, their
/// temperatures' quotient; otherwise the paper's.
double attention_factor(const ConfigFields& fields, double factor) {
  const double mscale = fields.number("mscale", kMscales, 0);
  const double mscale_all_dim = fields.number("mscale_all_dim", kMscales, 0);
  const double derived = mscale != 0 && mscale_all_dim != 0
                             ? temperature(factor, mscale) / temperature(factor, mscale_all_dim)
                             : temperature(factor, 1);
  return fields.number("attention_factor", model::kScales, derived);
}

model::YarnRope read_yarn(const ConfigFields& fields, int positions) {
  model::YarnRope yarn;
  yarn.original_positions =
      fields.number("original_max_position_embeddings", model::kRopePositions, positions);
  yarn.factor = fields.has("factor") ? fields.number("factor", model::kRopeFactors)
                                     : positions / yarn.original_positions;
  yarn.beta_fast = fields.number("beta_fast", model::kRopeTurns, 32);
  yarn.beta_slow = fields.number("beta_slow", model::kRopeTurns, 1);
  yarn.attention_factor = attention_factor(fields, yarn.factor);
  yarn.truncate = fields.boolean("truncate", true);
  return yarn;
}

model::RopeScaling read_scaling(const ConfigFields& fields, int positions) {
  const char* const key = fields.has("rope_type") ? "rope_type" : "type";
  if (!fields.has(key)) return {};
  const std::string_view type = fields.one_of(key, {"default", "linear", "llama3", "yarn"});
  if (type == "linear") return model::LinearRope{fields.number("factor", model::kRopeFactors)};
  if (type == "llama3") {
    return model::Llama3Rope{
        .factor = fields.number("factor", model::kRopeFactors),
        .low_freq_factor = fields.number("low_freq_factor", model::kRopeTurns),
        .high_freq_factor = fields.number("high_freq_factor", model::kRopeTurns),
        .original_positions =
            fields.number("original_max_position_embeddings", model::kRopePositions)};
  }
  if (type == "yarn") return read_yarn(fields, positions);
  return {};
}

}  // namespace

HfRope read_hf_rope(const ConfigFields& fields, int positions) {
  constexpr double kThetaDefault = 10000;
  HfRope rope;
  rope.base = fields.number("rope_theta", model::kRopeBases, kThetaDefault);
  fields.number("partial_rotary_factor", {1, 1}, 1);
  const auto scaling =
      fields.object(fields.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  if (!scaling) return rope;
  for (const char* const kind : {"full_attention", "sliding_attention"}) {
    if (scaling->has(kind)) scaling->fail(kind, "none: one rope for all layers");
  }
  rope.base = scaling->number("rope_theta", model::kRopeBases, rope.base);
  scaling->number("partial_rotary_factor", {1, 1}, 1);
  rope.scaling = read_scaling(*scaling, positions);
  if (const auto* const yarn = std::get_if<model::YarnRope>(&rope.scaling)) {
    const double all_dim = scaling->number("mscale_all_dim", kMscales, 0);
    if (all_dim != 0) rope.latent_scale = std::pow(temperature(yarn->factor, all_dim), 2);
  }
  return rope;
}

}  // namespace forge::checkpoint::detail
