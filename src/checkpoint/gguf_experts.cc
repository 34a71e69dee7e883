#include <algorithm>
#include <cstddef>

#include "fields.h"
#include "gguf_parts.h"

namespace forge::checkpoint::detail::gguf {
namespace {

using model::ExpertsConfig;

constexpr std::tuple kExperts{
    Field{"expert_count", &ExpertsConfig::experts, model::kExpertCounts},
    Field{"expert_used_count", &ExpertsConfig::experts_per_token, model::kExpertCounts},
    Field{"expert_feed_forward_length", &ExpertsConfig::expert_size, model::kSizes},
    Field{"expert_weights_scale", &ExpertsConfig::routed_scale, model::kScales, Absent::usual},
    Field{"expert_weights_norm", &ExpertsConfig::normalized, TrueOrFalse{}, Absent::usual}};

constexpr std::tuple kGroups{Field{"expert_group_count", &ExpertsConfig::groups,
                                   IntegerRange{0, model::kExpertsMax}, Absent::usual}};
constexpr std::tuple kGroupsUsed{
    Field{"expert_group_used_count", &ExpertsConfig::groups_per_token, model::kExpertCounts}};

constexpr const char* kShared = "expert_shared_count";
constexpr const char* kScore = "expert_gating_func";
constexpr int kSoftmax = 1;
constexpr int kSigmoid = 2;
constexpr int kSoftmaxOfChosen = 3;
constexpr const char* kDense = "leading_dense_block_count";

void read_shared(GgufFields& fields, ExpertsConfig& experts) {
  const int shared = fields.integer(kShared, {0, model::kExpertsMax});
  if (std::int64_t{shared} * experts.expert_size > model::kSizeMax) {
    fields.fail(kShared, "at most " + std::to_string(model::kSizeMax) +
                             " rows of expert_feed_forward_length together");
    return;
  }
  experts.shared_size = shared * experts.expert_size;
}

/// Files from before the key are of DeepSeek-V2, whose scores are softmax; but a correction bias
/// came with sigmoid.
model::ExpertScore read_score(GgufFields& fields, bool correction_bias) {
  if (correction_bias && !fields.has(kScore)) {
    fields.fail(kScore, "an integer, 1 (softmax) or 2 (sigmoid), as there is a correction bias");
  }
  return fields.integer(kScore, {kSoftmax, kSigmoid}, kSoftmax) == kSigmoid
             ? model::ExpertScore::sigmoid
             : model::ExpertScore::softmax;
}

/// Files from before the keys choose among all experts, as llama.cpp does with them.
void read_groups(GgufFields& fields, ExpertsConfig& experts, std::vector<KeyName>& names) {
  read_fields(fields, kGroups, experts, names);
  experts.groups = std::max(1, experts.groups);
  if (experts.groups > 1) read_fields(fields, kGroupsUsed, experts, names);
  // DeepSeek-V2 scores a group by its best expert, V3 by its two best.
  experts.group_best = experts.score == model::ExpertScore::sigmoid ? 2 : 1;
}

constexpr std::tuple kQwenShared{
    Field{"expert_shared_feed_forward_length", &ExpertsConfig::shared_size, model::kSizesOrNone}};

/// Shared experts with a gate came with weights that are not normalized.
ExpertsConfig read_qwen(GgufFields& fields, Reading& reading) {
  const bool shared = reading.family.experts == Experts::qwen_shared;
  ExpertsConfig experts{.normalized = !shared, .shared_gate = shared};
  read_fields(fields, kExperts, experts, reading.names);
  if (shared) read_fields(fields, kQwenShared, experts, reading.names);
  fields.integer(kShared, {0, 0}, 0);
  fields.integer(kScore, {kSoftmax, kSoftmax}, kSoftmax);
  experts.dense_layers.assign(static_cast<std::size_t>(reading.model.layers), false);
  return experts;
}

/// Of the keys of Llama's architecture: an expert is as large as its MLP would be.
constexpr std::tuple kMixtral{
    Field{"expert_count", &ExpertsConfig::experts, model::kExpertCounts},
    Field{"expert_used_count", &ExpertsConfig::experts_per_token, model::kExpertCounts},
    Field{"feed_forward_length", &ExpertsConfig::expert_size, model::kSizes}};

ExpertsConfig read_mixtral(GgufFields& fields, Reading& reading) {
  ExpertsConfig experts{.normalized = true};
  read_fields(fields, kMixtral, experts, reading.names);
  fields.integer(kShared, {0, 0}, 0);
  experts.dense_layers.assign(static_cast<std::size_t>(reading.model.layers), false);
  return experts;
}

constexpr std::tuple kGptOss{
    Field{"expert_count", &ExpertsConfig::experts, model::kExpertCounts},
    Field{"expert_used_count", &ExpertsConfig::experts_per_token, model::kExpertCounts},
    Field{"expert_feed_forward_length", &ExpertsConfig::expert_size, model::kSizes}};

ExpertsConfig read_gpt_oss(GgufFields& fields, Reading& reading) {
  ExpertsConfig experts{.normalized = true, .router_bias = true, .expert_bias = true};
  read_fields(fields, kGptOss, experts, reading.names);
  fields.integer(kShared, {0, 0}, 0);
  fields.integer(kScore, {kSoftmaxOfChosen, kSoftmaxOfChosen}, kSoftmaxOfChosen);
  experts.dense_layers.assign(static_cast<std::size_t>(reading.model.layers), false);
  return experts;
}

ExpertsConfig read_deepseek(GgufFields& fields, Reading& reading) {
  ExpertsConfig experts;
  read_fields(fields, kExperts, experts, reading.names);
  read_shared(fields, experts);
  const int layers = reading.model.layers;
  const int dense = fields.integer(kDense, {0, layers - 1}, 0);
  for (int layer = 0; layer < layers; ++layer) experts.dense_layers.push_back(layer < dense);
  experts.correction_bias = fields.has_tensor("blk." + std::to_string(dense) + ".exp_probs_b.bias");
  experts.score = read_score(fields, experts.correction_bias);
  // DeepSeek's code and llama.cpp disagree about what it would do here.
  if (experts.normalized && experts.score == model::ExpertScore::softmax) {
    fields.fail("expert_weights_norm", "false, as scores are softmax");
  }
  read_groups(fields, experts, reading.names);
  // Of layers that predict tokens after the next one; whether block_count has them is not said.
  fields.integer("nextn_predict_layers", {0, 0}, 0);
  return experts;
}

void write_deepseek(const ExpertsConfig& experts, Sink& out) {
  out.set(kShared, experts.shared_size / experts.expert_size);
  const auto dense = std::ranges::find(experts.dense_layers, false) - experts.dense_layers.begin();
  out.set(kDense, static_cast<int>(dense));
  out.set(kScore, experts.score == model::ExpertScore::sigmoid ? kSigmoid : kSoftmax);
  if (experts.groups == 1) return;  // llama.cpp wants fewer groups in use than there are
  write_fields(out, kGroups, experts);
  write_fields(out, kGroupsUsed, experts);
}

}  // namespace

void read_experts(GgufFields& fields, Reading& reading) {
  switch (reading.family.experts) {
    case Experts::none:
      fields.integer("expert_count", {0, 0}, 0);
      return;
    case Experts::qwen:
    case Experts::qwen_shared:
      reading.model.experts = read_qwen(fields, reading);
      return;
    case Experts::mixtral:
      reading.model.experts = read_mixtral(fields, reading);
      return;
    case Experts::gpt_oss:
      reading.model.experts = read_gpt_oss(fields, reading);
      return;
    case Experts::deepseek_v2:
    case Experts::deepseek_v3:
      reading.model.experts = read_deepseek(fields, reading);
  }
}

void write_experts(const ExpertsConfig& experts, const Family& family, Sink& out) {
  if (family.experts == Experts::none) return;
  if (family.experts == Experts::mixtral) return write_fields(out, kMixtral, experts);
  if (family.experts == Experts::gpt_oss) return write_fields(out, kGptOss, experts);
  write_fields(out, kExperts, experts);
  if (family.experts == Experts::qwen_shared) return write_fields(out, kQwenShared, experts);
  if (family.experts != Experts::qwen) write_deepseek(experts, out);
}

}  // namespace forge::checkpoint::detail::gguf
