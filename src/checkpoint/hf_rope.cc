#include <algorithm>
#include <array>
#include <charconv>
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

/// The decimal of fewest digits, nearest to `value`, that is as wanted.
template <class Wanted>
double with_fewest_digits(double value, const Wanted& wanted) {
  for (int digits = 1; digits < 17; ++digits) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                   std::chars_format::general, digits)
                         .ptr;
    double rounded = 0;
    std::from_chars(text.data(), end, rounded);
    if (wanted(rounded)) return rounded;
  }
  return value;
}

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

}  // namespace

void Sink::set(const char* key, float value) {
  object[key] = with_fewest_digits(
      double{value}, [&](double rounded) { return static_cast<float>(rounded) == value; });
}

double read_rope(const json::Fields& fields, Reading& reading) {
  model::RopeConfig& rope = reading.model.rope;
  const auto scaling =
      fields.object(fields.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  const bool base_within = scaling && scaling->has("rope_theta");
  read_fields(base_within ? *scaling : fields, kBase, rope, reading.names);
  fields.number("partial_rotary_factor", {1, 1}, 1);
  if (!scaling) return 1;
  for (const char* const kind : {"full_attention", "sliding_attention"}) {
    if (scaling->has(kind)) scaling->fail(kind, "none: one rope for all layers");
  }
  scaling->number("partial_rotary_factor", {1, 1}, 1);
  const char* const key = scaling->has("rope_type") ? "rope_type" : "type";
  if (!scaling->has(key)) return 1;
  const std::string_view type = scaling->one_of(key, {"default", "linear", "llama3", "yarn"});
  if (type == "linear") {
    read_fields(*scaling, kLinear, rope.scaling.emplace<model::LinearRope>(), reading.names);
  } else if (type == "llama3") {
    read_fields(*scaling, kLlama3, rope.scaling.emplace<model::Llama3Rope>(), reading.names);
  } else if (type == "yarn") {
    const Mscales mscales{.mscale = scaling->number("mscale", kMscales, 0),
                          .all_dim = scaling->number("mscale_all_dim", kMscales, 0)};
    const model::YarnRope yarn = read_yarn(*scaling, mscales, reading);
    rope.scaling = yarn;
    return temperature(yarn.factor, mscales.all_dim);
  }
  return 1;
}

void write_rope(const model::ModelConfig& model, Sink& out) {
  write_fields(out, kBase, model.rope);
  Sink scaling;
  if (const auto* linear = std::get_if<model::LinearRope>(&model.rope.scaling)) {
    scaling.set("rope_type", "linear");
    write_fields(scaling, kLinear, *linear);
  } else if (const auto* llama3 = std::get_if<model::Llama3Rope>(&model.rope.scaling)) {
    scaling.set("rope_type", "llama3");
    write_fields(scaling, kLlama3, *llama3);
  } else if (const auto* yarn = std::get_if<model::YarnRope>(&model.rope.scaling)) {
    scaling.set("rope_type", "yarn");
    write_yarn(model, *yarn, scaling);
  }
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
