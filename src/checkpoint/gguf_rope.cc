#include <cmath>
#include <vector>

#include "fields.h"
#include "forge/model/rope_frequencies.h"
#include "forge/quant/dequantize.h"
#include "gguf_parts.h"
#include "latent_scale.h"

namespace forge::checkpoint::detail::gguf {
namespace {

constexpr const char* kTable = "rope_freqs.weight";
constexpr const char* kShortTable = "rope_factors_short.weight";
constexpr const char* kLongTable = "rope_factors_long.weight";
constexpr const char* kType = "rope.scaling.type";
constexpr const char* kOriginal = "rope.scaling.original_context_length";
constexpr const char* kAttentionFactor = "rope.scaling.attn_factor";
constexpr const char* kLogMultiplier = "rope.scaling.yarn_log_multiplier";

/// Its size is there or usual.
constexpr auto rope_fields(Absent absent) {
  return std::tuple{
      Field{"rope.dimension_count", &model::RopeConfig::size, model::kHeadSizes, absent},
      Field{"rope.freq_base", &model::RopeConfig::base, model::kRopeBases, Absent::usual}};
}

constexpr std::tuple kLinear{
    Field{"rope.scaling.factor", &model::LinearRope::factor, model::kRopeFactors, Absent::usual}};

/// Of the ramp between pairs that are scaled and pairs that are not.
constexpr std::tuple kYarn{
    Field{"rope.scaling.factor", &model::YarnRope::factor, model::kRopeFactors},
    Field{"rope.scaling.yarn_beta_fast", &model::YarnRope::beta_fast, model::kRopeTurns,
          Absent::usual},
    Field{"rope.scaling.yarn_beta_slow", &model::YarnRope::beta_slow, model::kRopeTurns,
          Absent::usual}};

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
model::YarnRope read_ramp(GgufFields& fields, Reading& reading) {
  model::YarnRope yarn{.truncate = reading.family.gguf_truncate};
  read_fields(fields, kYarn, yarn, reading.names);
  yarn.original_positions =
      fields.number(kOriginal, model::kRopePositions, reading.model.positions);
  reading.names.push_back({"rope.scaling.original_positions", fields.name_of(kOriginal)});
  fields.number("rope.scaling.yarn_ext_factor", {1, 1}, 1);
  return yarn;
}

/// The paper's temperature, which readers multiply in.
double temperature(const model::YarnRope& yarn) { return 0.1 * std::log(yarn.factor) + 1; }

model::YarnRope read_yarn(GgufFields& fields, Reading& reading) {
  model::YarnRope yarn = read_ramp(fields, reading);
  fields.number(kLogMultiplier, {0, 0}, 0);
  yarn.attention_factor = temperature(yarn) * fields.number(kAttentionFactor, model::kScales, 1) *
                          fields.number("rope.scaling.yarn_attn_factor", model::kScales, 1);
  return yarn;
}

/// The float that gives the model's scale of scores.
float log_multiplier(const model::LatentConfig& latent, double factor, float attention_scale) {
  const double exact = (temperature_of(latent, attention_scale) - 1) / std::log(factor);
  constexpr float kAny = 0.1F;  // where the factor is 1
  const float nearest = std::isfinite(exact) ? static_cast<float>(exact) : kAny;
  for (const float tried :
       {nearest, std::nextafter(nearest, 0.0F), std::nextafter(nearest, 1e9F)}) {
    if (latent_scale(latent, double{tried} * std::log(factor) + 1) == attention_scale) return tried;
  }
  return nearest;
}

/// Two tables, whose being there is all that says LongRoPE.
model::LongRope read_long_rope(GgufFields& fields, const Reading& reading) {
  model::LongRope rope;
  const int size = reading.model.rope.size;
  const formats::Tensor* const short_table = fields.gguf().find(kShortTable);
  if (short_table == nullptr) {
    fields.fail_with(std::string(kShortTable) + " is missing; accepted is that or no " +
                     kLongTable);
    return rope;
  }
  rope.short_divisors = read_divisors(fields, *short_table, size);
  rope.long_divisors = read_divisors(fields, *fields.gguf().find(kLongTable), size);
  rope.original_positions =
      fields.number(kOriginal, model::kRopePositions, reading.model.positions);
  rope.attention_factor = fields.number(kAttentionFactor, model::kScales, 1);
  rope.is_long = reading.model.positions > rope.original_positions;
  return rope;
}

constexpr std::tuple kWindowBase{
    Field{"rope.freq_base_swa", &model::RopeConfig::base, model::kRopeBases, Absent::usual}};

double usual_window_base(const model::ModelConfig& model, const Family& family) {
  return family.window_rope_base == 0 ? model.rope.base : family.window_rope_base;
}

/// Layers with a window turn without scaling, and in Gemma 3 by another base.
void read_window_rope(GgufFields& fields, Reading& reading) {
  model::ModelConfig& model = reading.model;
  const auto& grouped = std::get<model::GroupedQueryConfig>(model.attention);
  model::RopeConfig rope{.size = model.rope.size,
                         .base = usual_window_base(model, reading.family),
                         .pairing = model.rope.pairing,
                         .scaling = {}};
  read_fields(fields, kWindowBase, rope, reading.names);
  if (grouped.sliding_window > 0 && rope != model.rope) model.window_rope = rope;
}

void write_yarn(const model::ModelConfig& model, const model::YarnRope& yarn, Sink& out) {
  out.set(kType, "yarn");
  write_fields(out, kYarn, yarn);
  out.set(kOriginal, static_cast<int>(yarn.original_positions));
  if (const auto* const latent = std::get_if<model::LatentConfig>(&model.attention)) {
    out.set(kLogMultiplier, log_multiplier(*latent, yarn.factor, model.attention_scale));
    return;
  }
  const double more = yarn.attention_factor / temperature(yarn);
  if (std::abs(more - 1) > 1e-12) out.set(kAttentionFactor, more);
}

}  // namespace

void read_rope(GgufFields& fields, Reading& reading) {
  model::RopeConfig& rope = reading.model.rope;
  read_fields(fields, rope_fields(Absent::usual), rope, reading.names);
  // Before there were types, the factor alone said that scaling is linear.
  model::LinearRope linear{fields.number("rope.scale_linear", model::kRopeFactors, 1)};
  const std::string type = fields.text(kType, linear.factor == 1 ? "none" : "linear");
  if (type == "linear") {
    read_fields(fields, kLinear, linear, reading.names);
    rope.scaling = linear;
  } else if (type == "yarn") {
    rope.scaling = read_yarn(fields, reading);
  } else if (type != "none" && !(type == "longrope" && fields.has_tensor(kLongTable))) {
    fields.fail(kType, "'none', 'linear', 'yarn', or 'longrope' with its tables");
  }
  if (const formats::Tensor* const table = fields.gguf().find(kTable)) {
    if (type != "none") fields.fail(kType, "'none', as there is rope_freqs.weight");
    rope.scaling = model::TabledRope{read_divisors(fields, *table, rope.size)};
  }
  if (fields.has_tensor(kLongTable)) {
    if (type != "none" && type != "longrope") {
      fields.fail(kType, std::string("'none' or 'longrope', as there is ") + kLongTable);
    }
    rope.scaling = read_long_rope(fields, reading);
  }
  if (reading.family.window_rope) read_window_rope(fields, reading);
}

double read_latent_rope(GgufFields& fields, Reading& reading) {
  read_fields(fields, rope_fields(Absent::refused), reading.model.rope, reading.names);
  fields.number("rope.scale_linear", {1, 1}, 1);
  if (fields.has_tensor(kTable)) {
    fields.fail_with(std::string(kTable) + " is there; accepted is none with latent attention");
  }
  const std::string type = fields.text(kType, "none");
  if (type == "none") return 1;
  if (type != "yarn") {
    fields.fail(kType, "'none' or 'yarn'");
    return 1;
  }
  constexpr NumberRange kMultipliers{1e-3, 10};
  const model::YarnRope yarn = read_ramp(fields, reading);
  reading.model.rope.scaling = yarn;
  // 0.1 mscale_all_dim. mscale is not in the file and taken as equal, so that their quotient, by
  // which cosines and sines would be scaled, is 1. Without the key there is no telling what was
  // meant: transformers would scale cosines and sines, llama.cpp the scores as well.
  const double multiplier = fields.number(kLogMultiplier, kMultipliers);
  fields.number(kAttentionFactor, {1, 1}, 1);
  fields.number("rope.scaling.yarn_attn_factor", {1, 1}, 1);
  return multiplier * std::log(yarn.factor) + 1;
}

void write_rope(const model::ModelConfig& model, const Family& family, Sink& out) {
  write_fields(out, rope_fields(Absent::usual), model.rope);
  const model::RopeConfig of_window = model.window_rope.value_or(model.rope);
  if (family.window_rope && of_window.base != usual_window_base(model, family)) {
    write_fields(out, kWindowBase, of_window);
  }
  if (const auto* linear = std::get_if<model::LinearRope>(&model.rope.scaling)) {
    out.set(kType, "linear");
    write_fields(out, kLinear, *linear);
  } else if (const auto* yarn = std::get_if<model::YarnRope>(&model.rope.scaling)) {
    write_yarn(model, *yarn, out);
  } else if (const auto* both = std::get_if<model::LongRope>(&model.rope.scaling)) {
    out.set(kOriginal, static_cast<int>(both->original_positions));
    out.set(kAttentionFactor, both->attention_factor);
  }
}

}  // namespace forge::checkpoint::detail::gguf

namespace forge::checkpoint {

std::optional<std::vector<float>> rope_divisors(const model::RopeConfig& rope) {
  if (const auto* tabled = std::get_if<model::TabledRope>(&rope.scaling)) return tabled->divisors;
  if (!std::holds_alternative<model::Llama3Rope>(rope.scaling)) return std::nullopt;
  model::RopeConfig unscaled = rope;
  unscaled.scaling = std::monostate();
  const std::vector<double> fast = rope_frequencies(unscaled);
  const std::vector<double> slow = rope_frequencies(rope);
  std::vector<float> divisors;
  for (std::size_t i = 0; i < fast.size(); ++i) {
    divisors.push_back(static_cast<float>(fast[i] / slow[i]));
  }
  return divisors;
}

std::vector<RopeTable> rope_tables(const model::RopeConfig& rope) {
  if (const auto* both = std::get_if<model::LongRope>(&rope.scaling)) {
    return {{detail::gguf::kLongTable, both->long_divisors},
            {detail::gguf::kShortTable, both->short_divisors}};
  }
  auto divisors = rope_divisors(rope);
  if (!divisors) return {};
  return {{detail::gguf::kTable, *std::move(divisors)}};
}

}  // namespace forge::checkpoint
