#include <algorithm>
#include <cstddef>

#include "fields.h"
#include "hf_parts.h"

namespace forge::checkpoint::detail::hf {
namespace {

using model::ExpertsConfig;

constexpr std::tuple kExperts{
    Field{"num_experts_per_tok", &ExpertsConfig::experts_per_token, model::kExpertCounts},
    Field{"moe_intermediate_size", &ExpertsConfig::expert_size, model::kSizes},
    Field{"norm_topk_prob", &ExpertsConfig::normalized, TrueOrFalse{}, Absent::usual}};

constexpr std::tuple kQwen{Field{"num_experts", &ExpertsConfig::experts, model::kExpertCounts}};
constexpr std::tuple kQwenSince5{
    // of transformers
    Field{"num_local_experts", &ExpertsConfig::experts, model::kExpertCounts}};

/// The spelling of this file.
const auto& qwen_fields(const json::Fields& fields) {
  return fields.has("num_local_experts") ? kQwenSince5 : kQwen;
}

constexpr std::tuple kDeepSeek{
    Field{"n_routed_experts", &ExpertsConfig::experts, model::kExpertCounts},
    Field{"routed_scaling_factor", &ExpertsConfig::routed_scale, model::kScales, Absent::usual}};

constexpr auto group_fields(Absent absent) {
  return std::tuple{
      Field{"n_group", &ExpertsConfig::groups, model::kExpertCounts, absent},
      Field{"topk_group", &ExpertsConfig::groups_per_token, model::kExpertCounts, absent}};
}

/// DeepSeek's way to say which layers have the dense MLP: those before the first one, and of
/// the others all that are no multiple of `every`.
struct LayerRule {
  int first = 0;
  int every = 1;

  std::vector<bool> dense_layers(int layers) const {
    std::vector<bool> dense(static_cast<std::size_t>(layers));
    for (int layer = 0; layer < layers; ++layer) {
      dense[static_cast<std::size_t>(layer)] = layer < first || layer % every != 0;
    }
    return dense;
  }
};

LayerRule rule_of(const std::vector<bool>& dense) {
  const int layers = static_cast<int>(dense.size());
  for (int every = 1; every <= layers; ++every) {
    LayerRule rule{.first = 0, .every = every};
    for (int layer = 0; layer < layers; layer += every) {
      if (dense[static_cast<std::size_t>(layer)]) rule.first = layer + 1;
    }
    if (rule.dense_layers(layers) == dense) return rule;
  }
  return {.first = static_cast<int>(std::ranges::find(dense, false) - dense.begin())};
}

ExpertsConfig read_qwen(const json::Fields& fields, Reading& reading) {
  ExpertsConfig experts;
  const int layers = reading.model.layers;
  read_fields(fields, qwen_fields(fields), experts, reading.names);
  read_fields(fields, kExperts, experts, reading.names);
  const int every = fields.integer("decoder_sparse_step", {1, model::kLayersMax}, 1);
  for (int layer = 0; layer < layers; ++layer) {
    experts.dense_layers.push_back((layer + 1) % every != 0);
  }
  for (const std::int64_t dense : fields.integers("mlp_only_layers", {0, layers - 1})) {
    experts.dense_layers[static_cast<std::size_t>(dense)] = true;
  }
  return experts;
}

constexpr std::tuple kQwenShared{Field{"shared_expert_intermediate_size",
                                       &ExpertsConfig::shared_size, model::kSizes, Absent::usual}};

ExpertsConfig read_qwen_shared(const json::Fields& fields, Reading& reading) {
  ExpertsConfig experts = read_qwen(fields, reading);
  experts.shared_size = 5632;
  experts.shared_gate = true;
  read_fields(fields, kQwenShared, experts, reading.names);
  return experts;
}

/// And of gpt-oss, whose defaults are others.
constexpr std::tuple kMixtral{
    Field{"num_local_experts", &ExpertsConfig::experts, model::kExpertCounts, Absent::usual},
    Field{"num_experts_per_tok", &ExpertsConfig::experts_per_token, model::kExpertCounts,
          Absent::usual},
    Field{"intermediate_size", &ExpertsConfig::expert_size, model::kSizes}};

/// The softmax of the chosen is that of all, normalized.
ExpertsConfig read_mixtral(const json::Fields& fields, Reading& reading) {
  ExpertsConfig experts{.normalized = true};
  read_fields(fields, kMixtral, experts, reading.names);
  experts.dense_layers.assign(static_cast<std::size_t>(reading.model.layers), false);
  return experts;
}

/// The softmax of the chosen, as above.
ExpertsConfig read_gpt_oss(const json::Fields& fields, Reading& reading) {
  ExpertsConfig experts{.experts = 128,
                        .experts_per_token = 4,
                        .normalized = true,
                        .router_bias = true,
                        .expert_bias = true};
  read_fields(fields, kMixtral, experts, reading.names);
  experts.dense_layers.assign(static_cast<std::size_t>(reading.model.layers), false);
  return experts;
}

void write_qwen(const ExpertsConfig& experts, Sink& out) {
  write_fields(out, kQwen, experts);
  write_fields(out, kExperts, experts);
  out.set("decoder_sparse_step", 1);
  std::vector<int> dense;
  for (std::size_t layer = 0; layer < experts.dense_layers.size(); ++layer) {
    if (experts.dense_layers[layer]) dense.push_back(static_cast<int>(layer));
  }
  out.set("mlp_only_layers", std::move(dense));
}

void read_shared(const json::Fields& fields, int usual, ExpertsConfig& experts) {
  const int shared = fields.integer("n_shared_experts", {0, model::kExpertsMax},
                                    fields.is_null("n_shared_experts") ? 0 : usual);
  if (std::int64_t{shared} * experts.expert_size > model::kSizeMax) {
    fields.fail("n_shared_experts", "at most " + std::to_string(model::kSizeMax) +
                                        " rows of moe_intermediate_size together");
  } else {
    experts.shared_size = shared * experts.expert_size;
  }
}

/// `experts` has the values of keys that are left out, as have `shared` and `dense`.
void read_deepseek(const json::Fields& fields, int shared, int dense, ExpertsConfig& experts,
                   Reading& reading) {
  read_fields(fields, kDeepSeek, experts, reading.names);
  read_fields(fields, kExperts, experts, reading.names);
  read_shared(fields, shared, experts);
  const LayerRule rule{
      .first = fields.integer("first_k_dense_replace", {0, model::kLayersMax}, dense),
      .every = fields.integer("moe_layer_freq", {1, model::kLayersMax}, 1)};
  experts.dense_layers = rule.dense_layers(reading.model.layers);
}

ExpertsConfig read_v2(const json::Fields& fields, Reading& reading) {
  ExpertsConfig experts;
  read_deepseek(fields, 2, 0, experts, reading);
  if (fields.has("scoring_func")) fields.one_of("scoring_func", {"softmax"});
  // DeepSeek's code and transformers disagree about what it would do here.
  if (experts.normalized) fields.fail("norm_topk_prob", "false");
  if (fields.has("topk_method") &&
      fields.one_of("topk_method", {"greedy", "group_limited_greedy"}) == "group_limited_greedy") {
    read_fields(fields, group_fields(Absent::refused), experts, reading.names);
  }
  return experts;
}

ExpertsConfig read_v3(const json::Fields& fields, Reading& reading) {
  ExpertsConfig experts{.score = model::ExpertScore::sigmoid,
                        .correction_bias = true,
                        .groups = 8,
                        .groups_per_token = 4,
                        .group_best = 2,
                        .normalized = true,
                        .routed_scale = 2.5F};
  read_deepseek(fields, 1, 3, experts, reading);
  if (fields.has("scoring_func")) fields.one_of("scoring_func", {"sigmoid"});
  if (fields.has("topk_method")) fields.one_of("topk_method", {"noaux_tc"});
  read_fields(fields, group_fields(Absent::usual), experts, reading.names);
  return experts;
}

void write_deepseek(const ExpertsConfig& experts, bool v3, Sink& out) {
  write_fields(out, kDeepSeek, experts);
  write_fields(out, kExperts, experts);
  out.set("n_shared_experts", experts.shared_size / experts.expert_size);
  const LayerRule rule = rule_of(experts.dense_layers);
  out.set("first_k_dense_replace", rule.first);
  out.set("moe_layer_freq", rule.every);
  out.set("scoring_func", v3 ? "sigmoid" : "softmax");
  const char* const of_v2 = experts.groups > 1 ? "group_limited_greedy" : "greedy";
  out.set("topk_method", v3 ? "noaux_tc" : of_v2);
  write_fields(out, group_fields(Absent::usual), experts);
}

}  // namespace

void read_experts(const json::Fields& fields, Reading& reading) {
  const Experts kind = reading.family.experts;
  if (kind == Experts::qwen) reading.model.experts = read_qwen(fields, reading);
  if (kind == Experts::qwen_shared) reading.model.experts = read_qwen_shared(fields, reading);
  if (kind == Experts::mixtral) reading.model.experts = read_mixtral(fields, reading);
  if (kind == Experts::gpt_oss) reading.model.experts = read_gpt_oss(fields, reading);
  if (kind == Experts::deepseek_v2) reading.model.experts = read_v2(fields, reading);
  if (kind == Experts::deepseek_v3) reading.model.experts = read_v3(fields, reading);
}

void write_experts(const ExpertsConfig& experts, const Family& family, Sink& out) {
  switch (family.experts) {
    case Experts::none:
      return;
    case Experts::qwen:
      return write_qwen(experts, out);
    case Experts::qwen_shared:
      write_qwen(experts, out);
      return write_fields(out, kQwenShared, experts);
    case Experts::mixtral:
    case Experts::gpt_oss:
      return write_fields(out, kMixtral, experts);
    case Experts::deepseek_v2:
    case Experts::deepseek_v3:
      return write_deepseek(experts, family.experts == Experts::deepseek_v3, out);
  }
}

}  // namespace forge::checkpoint::detail::hf
