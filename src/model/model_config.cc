#include "forge/model/model_config.h"

#include <algorithm>
#include <cstddef>

#include "forge/core/check.h"
#include "forge/model/ranges.h"
#include "forge/numerics/attention.h"
#include "forge/numerics/latent_attention.h"

namespace forge::model {
namespace {

/// Holds the fields of one part of the configuration against their ranges; keeps the first error.
class Checks {
 public:
  /// `part`, "experts." or the like, stands before the names of the fields.
  Checks(std::string part, std::string& fault) : part_(std::move(part)), fault_(fault) {}

  Checks& integer(const char* field, std::int64_t value, IntegerRange range) {
    return that(range.contains(value), field, std::to_string(value), to_string(range));
  }
  Checks& number(const char* field, double value, NumberRange range) {
    return that(range.contains(value), field, number_text(value), to_string(range));
  }
  Checks& multiple(const char* field, int value, const char* of, int divisor) {
    return that(divisor > 0 && value % divisor == 0, field, std::to_string(value),
                "a multiple of " + part_ + of + ", " + std::to_string(divisor));
  }
  Checks& that(bool holds, const std::string& field, const std::string& value,
               const std::string& accepted) {
    if (!holds && fault_.empty()) {
      fault_ = part_ + field + " is " + value + "; accepted is " + accepted;
    }
    return *this;
  }

 private:
  std::string part_;
  std::string& fault_;
};

std::int64_t product(int a, int b) { return std::int64_t{a} * b; }

void check_attention(const GroupedQueryConfig& c, const RopeConfig& rope, std::string& fault) {
  Checks("", fault)
      .integer("heads", c.heads, kHeadCounts)
      .integer("kv_heads", c.kv_heads, kHeadCounts)
      .multiple("heads", c.heads, "kv_heads", c.kv_heads)
      .integer("head_size", c.head_size, {1, numerics::kHeadSizeMax})
      .integer("heads * head_size", product(c.heads, c.head_size), kSizes)
      .integer("sliding_window", c.sliding_window, {0, kPositionsMax})
      .number("score_cap", static_cast<double>(c.score_cap), kCaps)
      .integer("rope.size", rope.size, {2, c.head_size});
}

void check_attention(const LatentConfig& c, const RopeConfig& rope, std::string& fault) {
  Checks("", fault)
      .integer("heads", c.heads, kHeadCounts)
      .integer("query_rank", c.query_rank, kSizesOrNone)
      .integer("kv_rank", c.kv_rank, kSizes)
      .integer("kv_rank + rope_size", std::int64_t{c.kv_rank} + c.rope_size,
               {1, numerics::kLatentSizeMax})
      .integer("nope_size", c.nope_size, kHeadSizes)
      .integer("rope_size", c.rope_size, kHeadSizes)
      .integer("value_size", c.value_size, kHeadSizes);
  if (!fault.empty()) return;  // products of other sizes may be more than 64 bits hold
  Checks("", fault)
      .integer("heads * (nope_size + rope_size)", product(c.heads, c.nope_size + c.rope_size),
               kSizes)
      .integer("heads * (nope_size + value_size)", product(c.heads, c.nope_size + c.value_size),
               kSizes)
      .number("latent_norm_eps", static_cast<double>(c.latent_norm_eps), kEpsilons)
      .that(rope.size == c.rope_size, "rope.size", std::to_string(rope.size),
            "rope_size, " + std::to_string(c.rope_size));
}

struct CheckScaling {
  const RopeConfig& rope;
  Checks checks;

  void table(const char* field, const std::vector<float>& divisors) {
    const std::size_t pairs = static_cast<std::size_t>(rope.size) / 2;
    checks.that(divisors.size() == pairs, field, "a table of " + std::to_string(divisors.size()),
                "one for each pair, " + std::to_string(pairs));
    for (const float divisor : divisors) {
      checks.number(field, static_cast<double>(divisor), kRopeDivisors);
    }
  }

  void operator()(std::monostate) const {}
  void operator()(const LinearRope& c) { checks.number("factor", c.factor, kRopeFactors); }
  void operator()(const Llama3Rope& c) {
    checks.number("factor", c.factor, kRopeFactors)
        .number("low_freq_factor", c.low_freq_factor, kRopeTurns)
        .number("high_freq_factor", c.high_freq_factor, kRopeTurns)
        .that(c.high_freq_factor > c.low_freq_factor, "high_freq_factor",
              number_text(c.high_freq_factor),
              "above low_freq_factor, " + number_text(c.low_freq_factor))
        .number("original_positions", c.original_positions, kRopePositions);
  }
  void operator()(const YarnRope& c) {
    checks.number("factor", c.factor, kRopeFactors)
        .number("beta_fast", c.beta_fast, kRopeTurns)
        .number("beta_slow", c.beta_slow, kRopeTurns)
        .that(c.beta_fast > c.beta_slow, "beta_fast", number_text(c.beta_fast),
              "above beta_slow, " + number_text(c.beta_slow))
        .number("original_positions", c.original_positions, kRopePositions)
        .number("attention_factor", c.attention_factor, kScales);
  }
  void operator()(const TabledRope& c) { table("divisors", c.divisors); }
  void operator()(const DynamicRope& c) { checks.number("factor", c.factor, kRopeFactors); }
  void operator()(const LongRope& c) {
    table("short_divisors", c.short_divisors);
    table("long_divisors", c.long_divisors);
    checks.number("original_positions", c.original_positions, kRopePositions)
        .number("attention_factor", c.attention_factor, kScales);
  }
};

/// `part`: "rope." or "window_rope.".
void check_rope(const std::string& part, const RopeConfig& rope, std::string& fault) {
  Checks(part, fault)
      .that(rope.size % 2 == 0, "size", std::to_string(rope.size), "an even number")
      .number("base", rope.base, kRopeBases)
      // Which pair turns how often is a question of the base's logarithm.
      .that(rope.base > 1 || !std::holds_alternative<YarnRope>(rope.scaling), "base",
            number_text(rope.base), "above 1 with YaRN");
  std::visit(CheckScaling{rope, Checks(part + "scaling.", fault)}, rope.scaling);
}

void check_experts(const ExpertsConfig& c, int layers, std::string& fault) {
  Checks checks("experts.", fault);
  checks.integer("experts", c.experts, kExpertCounts)
      .integer("experts_per_token", c.experts_per_token, {1, c.experts})
      .integer("expert_size", c.expert_size, kSizes)
      .integer("shared_size", c.shared_size, kSizesOrNone)
      .integer("groups", c.groups, {1, c.experts})
      .multiple("experts", c.experts, "groups", c.groups)
      .integer("groups_per_token", c.groups_per_token, {1, c.groups})
      .number("routed_scale", static_cast<double>(c.routed_scale), kScales)
      .that(!c.shared_gate || c.shared_size > 0, "shared_gate", "true",
            "false where there are no shared experts")
      .that(c.dense_layers.size() == static_cast<std::size_t>(layers), "dense_layers",
            "a list of " + std::to_string(c.dense_layers.size()),
            "one for each layer, " + std::to_string(layers));
  checks.integer("group_best", c.group_best, {1, 2});
  if (!fault.empty()) return;  // the rest divides by groups
  const int group = c.experts / c.groups;
  checks
      .that(c.group_best <= group, "groups", std::to_string(c.groups),
            "at most half of experts.experts (" + std::to_string(c.experts) +
                "), as a group is scored by its two best")
      .integer("experts_per_token", c.experts_per_token, {1, c.groups_per_token * group});
}

}  // namespace

bool is_dense(const ModelConfig& config, int layer) {
  FORGE_CHECK(layer >= 0 && layer < config.layers, "layer=", layer, " layers=", config.layers);
  return !config.experts || config.experts->dense_layers[static_cast<std::size_t>(layer)];
}

int window_of(const GroupedQueryConfig& attention, int layer) {
  const bool full =
      !attention.full_layers.empty() && attention.full_layers[static_cast<std::size_t>(layer)];
  return full ? 0 : attention.sliding_window;
}

const RopeConfig* rope_of(const ModelConfig& config, int layer) {
  const std::vector<bool>& unturned = config.unturned_layers;
  if (!unturned.empty() && unturned[static_cast<std::size_t>(layer)]) return nullptr;
  const auto* const grouped = std::get_if<GroupedQueryConfig>(&config.attention);
  const bool has_window = grouped != nullptr && window_of(*grouped, layer) > 0;
  return config.window_rope && has_window ? &*config.window_rope : &config.rope;
}

bool has_dense_layers(const ModelConfig& config) {
  return !config.experts || std::ranges::count(config.experts->dense_layers, true) > 0;
}

namespace {

void check_activation(const ModelConfig& c, std::string& fault) {
  const NumberRange range =
      c.activation == Activation::clamped_swiglu ? kClamps : NumberRange{0, 0};
  Checks("", fault)
      .number("swiglu_alpha", static_cast<double>(c.swiglu_alpha), range)
      .number("swiglu_limit", static_cast<double>(c.swiglu_limit), range);
}

/// What is said of each layer, or of none.
void check_layers(const ModelConfig& c, std::string& fault) {
  Checks checks("", fault);
  const auto list = [&](const char* field, const std::vector<bool>& layers) {
    checks.that(layers.empty() || layers.size() == static_cast<std::size_t>(c.layers), field,
                "a list of " + std::to_string(layers.size()),
                "one for each layer, " + std::to_string(c.layers));
  };
  list("unturned_layers", c.unturned_layers);
  const auto* const grouped = std::get_if<GroupedQueryConfig>(&c.attention);
  if (grouped != nullptr) list("full_layers", grouped->full_layers);
  if (!c.window_rope) return;
  check_rope("window_rope.", *c.window_rope, fault);
  checks.that(c.window_rope->size == c.rope.size, "window_rope.size",
              std::to_string(c.window_rope->size), "rope.size, " + std::to_string(c.rope.size));
}

}  // namespace

tl::expected<void, std::string> validate(const ModelConfig& c) {
  std::string fault;
  Checks("", fault)
      .integer("vocabulary_size", c.vocabulary_size, kSizes)
      .integer("hidden_size", c.hidden_size, kSizes)
      .integer("layers", c.layers, kLayerCounts)
      .integer("positions", c.positions, kPositionCounts)
      .number("norm_eps", static_cast<double>(c.norm_eps), kEpsilons)
      .number("attention_scale", static_cast<double>(c.attention_scale), kScales)
      .number("embedding_multiplier", static_cast<double>(c.embedding_multiplier), kScales)
      .number("residual_multiplier", static_cast<double>(c.residual_multiplier), kScales)
      .number("logits_divisor", static_cast<double>(c.logits_divisor), kScales)
      .number("logits_cap", static_cast<double>(c.logits_cap), kCaps);
  std::visit([&](const auto& attention) { check_attention(attention, c.rope, fault); },
             c.attention);
  check_rope("rope.", c.rope, fault);
  check_layers(c, fault);
  check_activation(c, fault);
  if (c.experts) check_experts(*c.experts, c.layers, fault);
  Checks("", fault).integer("ffn_size", c.ffn_size, has_dense_layers(c) ? kSizes : kSizesOrNone);
  if (!fault.empty()) return tl::unexpected(std::move(fault));
  return {};
}

}  // namespace forge::model
