#include <algorithm>
#include <cstddef>

#include "gguf_parts.h"

namespace forge::checkpoint::detail {
namespace {

constexpr int kSoftmax = 1;  // of expert_gating_func
constexpr int kSigmoid = 2;

/// What all architectures have in common.
model::ExpertsConfig read_experts(GgufFields& fields) {
  model::ExpertsConfig experts;
  experts.experts = fields.integer("expert_count", model::kExpertCounts);
  experts.experts_per_token = fields.integer("expert_used_count", model::kExpertCounts);
  experts.expert_size = fields.integer("expert_feed_forward_length", model::kSizes);
  experts.routed_scale =
      static_cast<float>(fields.number("expert_weights_scale", model::kScales, 1));
  return experts;
}

void read_shared(GgufFields& fields, model::ExpertsConfig& experts) {
  const int shared = fields.integer("expert_shared_count", {0, model::kExpertsMax});
  if (std::int64_t{shared} * experts.expert_size > model::kSizeMax) {
    fields.fail("expert_shared_count", "at most " + std::to_string(model::kSizeMax) +
                                           " rows of expert_feed_forward_length together");
    return;
  }
  experts.shared_size = shared * experts.expert_size;
}

/// Files from before the key are of DeepSeek-V2, whose scores are softmax; but a correction bias
/// came with sigmoid.
model::ExpertScore read_score(GgufFields& fields, bool correction_bias) {
  const char* const key = "expert_gating_func";
  if (correction_bias && !fields.has(key)) {
    fields.fail(key, "an integer, 1 (softmax) or 2 (sigmoid), as there is a correction bias");
  }
  return fields.integer(key, {kSoftmax, kSigmoid}, kSoftmax) == kSigmoid
             ? model::ExpertScore::sigmoid
             : model::ExpertScore::softmax;
}

/// Files from before the keys choose among all experts, as llama.cpp does with them.
void read_groups(GgufFields& fields, model::ExpertsConfig& experts) {
  experts.groups = std::max(1, fields.integer("expert_group_count", {0, model::kExpertsMax}, 1));
  if (experts.groups > 1) {
    experts.groups_per_token = fields.integer("expert_group_used_count", model::kExpertCounts);
  }
  // DeepSeek-V2 scores a group by its best expert, V3 by its two best.
  experts.group_best = experts.score == model::ExpertScore::sigmoid ? 2 : 1;
}

}  // namespace

model::ExpertsConfig read_gguf_qwen_experts(GgufFields& fields, int layers) {
  model::ExpertsConfig experts = read_experts(fields);
  fields.integer("expert_shared_count", {0, 0}, 0);
  fields.integer("expert_gating_func", {kSoftmax, kSoftmax}, kSoftmax);
  experts.normalised = fields.boolean("expert_weights_norm", true);
  experts.dense_layers.assign(static_cast<std::size_t>(layers), false);
  return experts;
}

model::ExpertsConfig read_gguf_deepseek_experts(GgufFields& fields, int layers) {
  model::ExpertsConfig experts = read_experts(fields);
  read_shared(fields, experts);
  const int dense = fields.integer("leading_dense_block_count", {0, layers - 1}, 0);
  for (int layer = 0; layer < layers; ++layer) experts.dense_layers.push_back(layer < dense);
  experts.correction_bias = fields.has_tensor("blk." + std::to_string(dense) + ".exp_probs_b.bias");
  experts.score = read_score(fields, experts.correction_bias);
  experts.normalised = fields.boolean("expert_weights_norm", false);
  // DeepSeek's code and llama.cpp disagree about what it would do here.
  if (experts.normalised && experts.score == model::ExpertScore::softmax) {
    fields.fail("expert_weights_norm", "false, as scores are softmax");
  }
  read_groups(fields, experts);
  // Of layers that predict tokens after the next one; whether block_count has them is not said.
  fields.integer("nextn_predict_layers", {0, 0}, 0);
  return experts;
}

}  // namespace forge::checkpoint::detail
