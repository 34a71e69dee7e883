#include <algorithm>
#include <cstddef>

#include "hf_parts.h"

namespace forge::checkpoint::detail {
namespace {

/// What transformers takes for keys that are left out (DeepseekV2Config and DeepseekV3Config).
struct Defaults {
  int shared_experts;
  double routed_scale;
  int dense_layers;
};
constexpr Defaults kV2{.shared_experts = 2, .routed_scale = 1, .dense_layers = 0};
constexpr Defaults kV3{.shared_experts = 1, .routed_scale = 2.5, .dense_layers = 3};

/// What DeepSeek-V2 and V3 have in common.
model::ExpertsConfig read_deepseek_experts(const ConfigFields& fields, int layers,
                                           const Defaults& defaults) {
  model::ExpertsConfig experts;
  experts.experts = fields.integer("n_routed_experts", model::kExpertCounts);
  experts.experts_per_token = fields.integer("num_experts_per_tok", model::kExpertCounts);
  experts.expert_size = fields.integer("moe_intermediate_size", model::kSizes);
  const int shared =
      fields.integer("n_shared_experts", {0, model::kExpertsMax},
                     fields.is_null("n_shared_experts") ? 0 : defaults.shared_experts);
  if (std::int64_t{shared} * experts.expert_size > model::kSizeMax) {
    fields.fail("n_shared_experts", "at most " + std::to_string(model::kSizeMax) +
                                        " rows of moe_intermediate_size together");
  } else {
    experts.shared_size = shared * experts.expert_size;
  }
  experts.routed_scale = static_cast<float>(
      fields.number("routed_scaling_factor", model::kScales, defaults.routed_scale));
  const int first =
      fields.integer("first_k_dense_replace", {0, model::kLayersMax}, defaults.dense_layers);
  const int every = fields.integer("moe_layer_freq", {1, model::kLayersMax}, 1);
  for (int layer = 0; layer < layers; ++layer) {
    experts.dense_layers.push_back(layer < first || layer % every != 0);
  }
  return experts;
}

}  // namespace

model::ExpertsConfig read_qwen_experts(const ConfigFields& fields, int layers) {
  model::ExpertsConfig experts;
  const char* const count = fields.has("num_experts") ? "num_experts" : "num_local_experts";
  experts.experts = fields.integer(count, model::kExpertCounts);
  experts.experts_per_token = fields.integer("num_experts_per_tok", model::kExpertCounts);
  experts.expert_size = fields.integer("moe_intermediate_size", model::kSizes);
  experts.normalised = fields.boolean("norm_topk_prob", false);
  const int every = fields.integer("decoder_sparse_step", {1, model::kLayersMax}, 1);
  for (int layer = 0; layer < layers; ++layer) {
    experts.dense_layers.push_back((layer + 1) % every != 0);
  }
  for (const std::int64_t dense : fields.integers("mlp_only_layers", {0, layers - 1})) {
    experts.dense_layers[static_cast<std::size_t>(dense)] = true;
  }
  return experts;
}

model::ExpertsConfig read_deepseek_v2_experts(const ConfigFields& fields, int layers) {
  model::ExpertsConfig experts = read_deepseek_experts(fields, layers, kV2);
  if (fields.has("scoring_func")) fields.one_of("scoring_func", {"softmax"});
  // DeepSeek's code and transformers disagree about what it would do here.
  if (fields.boolean("norm_topk_prob", false)) fields.fail("norm_topk_prob", "false");
  if (fields.has("topk_method") &&
      fields.one_of("topk_method", {"greedy", "group_limited_greedy"}) == "group_limited_greedy") {
    experts.groups = fields.integer("n_group", model::kExpertCounts);
    experts.groups_per_token = fields.integer("topk_group", model::kExpertCounts);
  }
  return experts;
}

model::ExpertsConfig read_deepseek_v3_experts(const ConfigFields& fields, int layers) {
  model::ExpertsConfig experts = read_deepseek_experts(fields, layers, kV3);
  if (fields.has("scoring_func")) fields.one_of("scoring_func", {"sigmoid"});
  if (fields.has("topk_method")) fields.one_of("topk_method", {"noaux_tc"});
  experts.score = model::ExpertScore::sigmoid;
  experts.correction_bias = true;
  experts.group_best = 2;
  experts.normalised = fields.boolean("norm_topk_prob", true);
  experts.groups = fields.integer("n_group", model::kExpertCounts, 8);
  experts.groups_per_token = fields.integer("topk_group", model::kExpertCounts, 4);
  return experts;
}

}  // namespace forge::checkpoint::detail
