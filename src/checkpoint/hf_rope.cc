#include <algorithm>
#include <cmath>

#include "fields.h"
#include "forge/checkpoint/gguf_config.h"
#include "hf_parts.h"
#include "latent_scale.h"

namespace forge::checkpoint::detail::hf {
namespace {

constexpr std::tuple kBase{
    Field{"rope_theta", &model::RopeConfig::base, model::kRopeBases, Absent::usual}};

constexpr std::tuple kLinear{Field{"factor", &model::LinearRope::factor, model::kRopeFactors}};

constexpr std::tuple kDynamic{Field{"factor", &model::DynamicRope::factor, model::kRopeFactors}};

/// Gemma 3's of layers with a window.
constexpr std::tuple kLocalBase{
    Field{"rope_local_base_freq", &model::RopeConfig::base, model::kRopeBases, Absent::usual}};

constexpr std::tuple kLlama3{
    Field{"factor", &model::Llama3Rope::factor, model::kRopeFactors},
    Field{"low_freq_factor", &model::Llama3Rope::low_freq_factor, model::kRopeTurns},
    Field{"high_freq_factor", &model::Llama3Rope::high_freq_factor, model::kRopeTurns},
    Field{"original_max_position_embeddings", &model::Llama3Rope::original_positions,
          model::kRopePositions}};

/// The two that others' usual values are derived from stand first.
constexpr std::tuple kYarnContext{Field{"original_max_position_embeddings",
                                        &model::YarnRope::original_positions, model::kRopePositions,
                                        Absent::usual}};
constexpr std::tuple kYarnFactor{
    Field{"factor", &model::YarnRope::factor, model::kRopeFactors, Absent::usual}};
constexpr std::tuple kYarn{
    Field{"beta_fast", &model::YarnRope::beta_fast, model::kRopeTurns, Absent::usual},
    Field{"beta_slow", &model::YarnRope::beta_slow, model::kRopeTurns, Absent::usual},
    Field{"attention_factor", &model::YarnRope::attention_factor, model::kScales, Absent::usual},
    Field{"truncate", &model::YarnRope::truncate, TrueOrFalse{}, Absent::usual}};

/// YaRN's temperature for a context `factor` times as long (arXiv:2309.00071, equation 22), with
/// the weight that DeepSeek gives the logarithm.
double temperature(double factor, double mscale) { return 0.1 * mscale * std::log(factor) + 1; }

/// Of cosines and sines, and of the scores; 0: none.
struct Mscales {
  double mscale = 0;
  double all_dim = 0;
};
constexpr NumberRange kMscales{0, 100};

/// The ratio of the contexts and the temperature are as transformers derives them, where the
/// checkpoint does not say: with both mscales, their temperatures' quotient; otherwise the paper's.
model::YarnRope read_yarn(const json::Fields& fields, const Mscales& mscales, Reading& reading) {
  model::YarnRope yarn;
  yarn.original_positions = reading.model.positions;
  read_fields(fields, kYarnContext, yarn, reading.names);
  yarn.factor = reading.model.positions / yarn.original_positions;
  if (!fields.has("factor")) {
    reading.names.push_back(
        {"rope.scaling.factor", "max_position_embeddings / original_max_position_embeddings"});
  }
  read_fields(fields, kYarnFactor, yarn, reading.names);
  yarn.attention_factor =
      mscales.mscale != 0 && mscales.all_dim != 0
          ? temperature(yarn.factor, mscales.mscale) / temperature(yarn.factor, mscales.all_dim)
          : temperature(yarn.factor, 1);
  read_fields(fields, kYarn, yarn, reading.names);
  return yarn;
}

/// Of gpt-oss, where config.json has no rope_scaling at all.
model::YarnRope usual_yarn() {
  return {.factor = 32, .attention_factor = temperature(32, 1), .truncate = false};
}

/// The number of fewest digits that gives the model's scale; 0 where YaRN leaves it alone.
double mscale_all_dim(const model::LatentConfig& latent, double factor, float scale) {
  const auto gives_scale = [&](double mscale) {
    return latent_scale(latent, temperature(factor, mscale)) == scale;
  };
  const double exact = 10 * (temperature_of(latent, scale) - 1) / std::log(factor);
  return gives_scale(0) || !std::isfinite(exact) ? 0 : with_fewest_digits(exact, gives_scale);
}

void write_yarn(const model::ModelConfig& model, const model::YarnRope& yarn, Sink& out) {
  write_fields(out, kYarnFactor, yarn);
  write_fields(out, kYarnContext, yarn);
  write_fields(out, kYarn, yarn);
  const auto* const latent = std::get_if<model::LatentConfig>(&model.attention);
  if (latent == nullptr) return;
  const double mscale = mscale_all_dim(*latent, yarn.factor, model.attention_scale);
  if (mscale == 0) return;
  out.set("mscale", mscale);  // as of transformers, whose quotient scales cosines and sines
  out.set("mscale_all_dim", mscale);
}

/// A list of divisors, one a pair; it is validate() that counts them.
std::vector<float> read_divisors(const json::Fields& fields, const char* key) {
  std::vector<float> divisors;
  for (const nlohmann::json& item : fields.items(key)) {
    const double divisor = item.is_number() ? item.get<double>() : 0;
    if (!model::kRopeDivisors.contains(divisor))
      fields.fail(key, "a list of numbers, " + to_string(model::kRopeDivisors));
    divisors.push_back(static_cast<float>(divisor));
  }
  return divisors;
}

std::vector<double> decimals_of(const std::vector<float>& values) {
  std::vector<double> out;
  out.reserve(values.size());
  for (const float value : values) out.push_back(decimal_of(value));
  return out;
}

constexpr const char* kShort = "short_factor";
constexpr const char* kLong = "long_factor";
constexpr const char* kOriginal = "original_max_position_embeddings";

/// `outer`, the whole config.json, has the context of the training in Phi's files.
model::LongRope read_long_rope(const json::Fields& scaling, const json::Fields& outer,
                               Reading& reading) {
  const int positions = reading.model.positions;
  const double usual =
      reading.family.original_positions > 0 ? reading.family.original_positions : positions;
  model::LongRope rope{.short_divisors = read_divisors(scaling, kShort),
                       .long_divisors = read_divisors(scaling, kLong)};
  const double within = scaling.number(kOriginal, model::kRopePositions, usual);
  rope.original_positions = outer.number(kOriginal, model::kRopePositions, within);
  rope.is_long = positions > rope.original_positions;
  const double ratio = scaling.number("factor", model::kRopeFactors,
                                      std::max(1.0, positions / rope.original_positions));
  const double usual_factor =
      ratio <= 1 ? 1 : std::sqrt(1 + std::log(ratio) / std::log(rope.original_positions));
  rope.attention_factor = scaling.number("attention_factor", model::kScales, usual_factor);
  for (const auto& [field, key] : {std::pair{"short_divisors", kShort},
                                   {"long_divisors", kLong},
                                   {"original_positions", kOriginal}}) {
    reading.names.push_back({std::string("rope.scaling.") + field, key});
  }
  return rope;
}

/// The scaling of one RoPE. Returns: RopeReading::temperature.
double read_scaling(const json::Fields& scaling, const json::Fields& outer, Reading& reading,
                    model::RopeConfig& rope) {
  const char* const key = scaling.has("rope_type") ? "rope_type" : "type";
  if (!scaling.has(key)) {
    if (scaling.has("factor")) {
      reading.notes.emplace_back(
          "config.json scales RoPE by a factor and does not say how (rope_type): it is not scaled");
    }
    return 1;
  }
  const std::string_view type =
      scaling.one_of(key, {"default", "linear", "llama3", "yarn", "dynamic", "longrope", "su"});
  if (type == "linear") {
    read_fields(scaling, kLinear, rope.scaling.emplace<model::LinearRope>(), reading.names);
  } else if (type == "llama3") {
    read_fields(scaling, kLlama3, rope.scaling.emplace<model::Llama3Rope>(), reading.names);
  } else if (type == "dynamic") {
    read_fields(scaling, kDynamic, rope.scaling.emplace<model::DynamicRope>(), reading.names);
  } else if (type == "longrope" || type == "su") {  // its name in Phi-3's first files
    rope.scaling = read_long_rope(scaling, outer, reading);
  } else if (type == "yarn") {
    const Mscales mscales{.mscale = scaling.number("mscale", kMscales, 0),
                          .all_dim = scaling.number("mscale_all_dim", kMscales, 0)};
    const model::YarnRope yarn = read_yarn(scaling, mscales, reading);
    rope.scaling = yarn;
    return temperature(yarn.factor, mscales.all_dim);
  }
  return 1;
}

/// How much of a head turns, which not every family's code asks for.
double read_rotary_factor(const json::Fields& fields, const Family& family, double usual) {
  const NumberRange range =
      family.partial_rotary ? NumberRange{1e-3, 1} : NumberRange{usual, usual};
  return fields.number("partial_rotary_factor", range, usual);
}

Sink scaling_sink(const model::ModelConfig& model, const model::RopeConfig& rope) {
  Sink out;
  if (const auto* linear = std::get_if<model::LinearRope>(&rope.scaling)) {
    out.set("rope_type", "linear");
    write_fields(out, kLinear, *linear);
  } else if (const auto* llama3 = std::get_if<model::Llama3Rope>(&rope.scaling)) {
    out.set("rope_type", "llama3");
    write_fields(out, kLlama3, *llama3);
  } else if (const auto* yarn = std::get_if<model::YarnRope>(&rope.scaling)) {
    out.set("rope_type", "yarn");
    write_yarn(model, *yarn, out);
  } else if (const auto* dynamic = std::get_if<model::DynamicRope>(&rope.scaling)) {
    out.set("rope_type", "dynamic");
    write_fields(out, kDynamic, *dynamic);
  } else if (const auto* both = std::get_if<model::LongRope>(&rope.scaling)) {
    out.set("rope_type", "longrope");
    out.set(kShort, decimals_of(both->short_divisors));
    out.set(kLong, decimals_of(both->long_divisors));
    out.set(kOriginal, both->original_positions);
    out.set("attention_factor", both->attention_factor);
  }
  return out;
}

/// The RoPE of layers with a window, which has a base of its own and no scaling, unless
/// rope_parameters has one for each kind of layer.
void read_window_rope(const json::Fields& fields, const std::optional<json::Fields>& parameters,
                      Reading& reading) {
  model::RopeConfig& rope = reading.model.window_rope.emplace();
  const Family& family = reading.family;
  rope.base = family.window_rope_base == 0 ? reading.model.rope.base : family.window_rope_base;
  if (!parameters) {
    if (family.window_rope_base != 0) read_fields(fields, kLocalBase, rope, reading.names);
    return;
  }
  read_fields(*parameters, kBase, rope, reading.names);
  read_scaling(*parameters, fields, reading, rope);
}

}  // namespace

RopeReading read_rope(const json::Fields& fields, Reading& reading) {
  model::RopeConfig& rope = reading.model.rope;
  const Family& family = reading.family;
  rope.base = family.rope_base;
  auto scaling = fields.object(fields.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  std::optional<json::Fields> of_window;
  const bool by_kind =
      scaling && (scaling->has("full_attention") || scaling->has("sliding_attention"));
  if (by_kind && !family.window_rope) {
    for (const char* const kind : {"full_attention", "sliding_attention"}) {
      if (scaling->has(kind)) scaling->fail(kind, "none: one rope for all layers");
    }
  } else if (by_kind) {
    of_window = scaling->object("sliding_attention");
    scaling = scaling->object("full_attention");
  }
  const bool base_within = scaling && scaling->has("rope_theta");
  read_fields(base_within ? *scaling : fields, kBase, rope, reading.names);
  RopeReading out{.rotary_factor = read_rotary_factor(fields, family, family.rotary_factor)};
  if (scaling) {
    out.rotary_factor = read_rotary_factor(*scaling, family, out.rotary_factor);
    out.temperature = read_scaling(*scaling, fields, reading, rope);
  }
  if (!scaling && family.usual_yarn) rope.scaling = usual_yarn();
  if (family.window_rope) read_window_rope(fields, of_window, reading);
  return out;
}

void write_rope(const model::ModelConfig& model, const Family& family, Sink& out) {
  if (family.window_rope) {
    Sink full = scaling_sink(model, model.rope);
    Sink window = scaling_sink(model, model.window_rope.value_or(model.rope));
    write_fields(full, kBase, model.rope);
    write_fields(window, kBase, model.window_rope.value_or(model.rope));
    if (!full.object.contains("rope_type")) full.set("rope_type", "default");
    if (!window.object.contains("rope_type")) window.set("rope_type", "default");
    Sink both;
    both.set("full_attention", std::move(full.object));
    both.set("sliding_attention", std::move(window.object));
    return out.set("rope_parameters", std::move(both.object));
  }
  write_fields(out, kBase, model.rope);
  Sink scaling = scaling_sink(model, model.rope);
  if (scaling.object.empty() && family.usual_yarn) scaling.set("rope_type", "default");
  if (!scaling.object.empty()) out.set("rope_scaling", std::move(scaling.object));
}

std::optional<model::Llama3Rope> llama3_of(const model::RopeConfig& rope,
                                           const model::TabledRope& tabled) {
  if (tabled.divisors.empty()) return std::nullopt;
  model::Llama3Rope guess;
  guess.factor = double{*std::max_element(tabled.divisors.begin(), tabled.divisors.end())};
  model::RopeConfig tried = rope;
  tried.scaling = guess;
  const std::vector<float> divisors = *rope_divisors(tried);
  constexpr double kRounding = 1e-5;  // of a few float operations in whoever made the table
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double ratio = double{tabled.divisors[i]} / double{divisors[i]};
    if (!(std::abs(ratio - 1) < kRounding)) return std::nullopt;
  }
  return guess;
}

}  // namespace forge::checkpoint::detail::hf
