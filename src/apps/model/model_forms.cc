#include "model_forms.h"

#include <variant>

#include "forge/linear/linear_weights.h"
#include "forge/model/weight_roles.h"

namespace forge::apps {
namespace {

using linear::StoredGroups;
using nlohmann::ordered_json;

struct FormName {
  int outputs;
  int inputs;

  std::string operator()(const linear::StoredRows& form) const {
    return std::string(name_of(form.type));
  }
  std::string operator()(const linear::StoredInt8&) const { return "INT8, a scale for each row"; }
  std::string operator()(const StoredGroups& form) const {
    const std::string size =
        form.group_size == inputs ? "one group" : "groups of " + std::to_string(form.group_size);
    return packing(form.packing) + " of " + std::to_string(form.bits) + " bits in " + size +
           (form.order.empty() ? "" : ", act-order");
  }
  std::string operator()(const linear::StoredFloat8& form) const {
    if (form.block_rows == 1 && form.block_columns == inputs)
      return "F8_E4M3, a scale for each row";
    if (form.block_rows == outputs && form.block_columns == inputs) return "F8_E4M3, one scale";
    return "F8_E4M3 in blocks of " + std::to_string(form.block_rows) + " x " +
           std::to_string(form.block_columns);
  }

  static std::string packing(StoredGroups::Packing packing) {
    switch (packing) {
      case StoredGroups::Packing::gptq:
        return "GPTQ";
      case StoredGroups::Packing::gptq_v2:
        return "GPTQ v2";
      case StoredGroups::Packing::awq:
        return "AWQ";
      case StoredGroups::Packing::rows:
        return "pack-quantized";
    }
    return "";
  }
};

/// Groups that products cannot take 32 at a time are packed as floats (packed_model.h).
linear::PanelKind packed_kind(const linear::StoredLinear& matrix) {
  const auto* const groups = std::get_if<StoredGroups>(&matrix.form);
  const bool short_groups = groups != nullptr && groups->group_size % 32 != 0;
  return short_groups ? linear::PanelKind::f32 : panel_kind(matrix);
}

/// What `deepseek2` and `qwen3moe` leave out of the choice of experts.
void add_assumptions_of_experts(const checkpoint::Checkpoint& checkpoint, const std::string& prefix,
                                std::vector<std::string>& out) {
  if (!checkpoint.config().experts) return;
  const model::ExpertsConfig& experts = *checkpoint.config().experts;
  const formats::GgufMetadata& metadata = checkpoint.gguf()->metadata();
  const auto lacks = [&](const char* key) { return !metadata.contains(prefix + key); };
  if (lacks("expert_weights_norm")) {
    out.push_back(std::string("the weights of a token's experts are ") +
                  (experts.normalized ? "" : "not ") + "normalized, as " + prefix +
                  "expert_weights_norm is not there");
  }
  if (lacks("expert_group_count") && experts.correction_bias) {
    out.push_back("experts are chosen among all, as " + prefix + "expert_group_count is not there");
  }
}

}  // namespace

std::string form_name(const linear::StoredLinear& matrix) {
  return std::visit(FormName{matrix.outputs, matrix.inputs}, matrix.form);
}

ordered_json form_facts(const checkpoint::Checkpoint& checkpoint) {
  ordered_json out = ordered_json::object();
  for_each_weight(
      checkpoint.model(),
      [&](const std::string&, const linear::StoredLinear& matrix) {
        ordered_json& form = out[form_name(matrix)];
        if (form.is_null()) {
          form = {{"matrices", 0}, {"packed_as", name_of(packed_kind(matrix))}};
        }
        form["matrices"] = form["matrices"].get<int>() + 1;
      },
      [](const std::string&, const std::vector<float>&) {});
  return out;
}

std::vector<std::string> assumptions(const checkpoint::Checkpoint& checkpoint) {
  std::vector<std::string> out;
  const formats::Gguf* const gguf = checkpoint.gguf();
  if (gguf == nullptr) return out;
  const model::ModelConfig& config = checkpoint.config();
  const std::string prefix = std::string(gguf->text("general.architecture").value_or("")) + ".";
  if (!gguf->metadata().contains(prefix + "rope.freq_base")) {
    out.push_back("the base of RoPE is " + ordered_json(config.rope.base).dump() + ", as " +
                  prefix + "rope.freq_base is not there");
  }
  add_assumptions_of_experts(checkpoint, prefix, out);
  if (std::holds_alternative<model::LatentConfig>(config.attention)) {
    out.emplace_back("the norms of latents have DeepSeek's epsilon, 1e-6, which no key says");
    if (std::holds_alternative<model::YarnRope>(config.rope.scaling)) {
      out.emplace_back("YaRN's mscale is its mscale_all_dim, which alone is in the file");
    }
  }
  return out;
}

}  // namespace forge::apps
