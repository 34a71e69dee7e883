#include "forge/gpu/gpu_model.h"

#include "forge/linear/linear_weights.h"

namespace forge::gpu {
namespace {

constexpr const char* kAcceptedWeights = "f32, f16 or bf16";

/// Holds the parts of a model against what the kernels have; keeps the first that they lack.
class Parts {
 public:
  Parts& that(bool holds, const std::string& part, const std::string& value,
              const std::string& accepted) {
    if (!holds && missing_.empty()) {
      missing_ = part + " is " + value + ", accepted on a GPU: " + accepted;
    }
    return *this;
  }
  Parts& readable(const std::string& role, const linear::LinearWeights& weights) {
    for (const linear::Section& section : weights.sections()) {
      that(weight_kind(section.kind).has_value(), "the weights' type of " + role,
           std::string(name_of(section.kind)), kAcceptedWeights);
    }
    return *this;
  }

  const std::string& missing() const { return missing_; }

 private:
  std::string missing_;
};

void check_attention(const model::ModelConfig& c, Parts& parts) {
  const auto* const a = std::get_if<model::GroupedQueryConfig>(&c.attention);
  parts.that(a != nullptr, "attention", "latent", "grouped queries");
}

void check_weights(const model::PackedModel& weights, Parts& parts) {
  const auto* const rows = std::get_if<linear::StoredRows>(&weights.embedding.form);
  const linear::PanelKind kind = linear::panel_kind(weights.embedding);
  parts.that(rows != nullptr && weight_kind(kind), "the weights' type of the embedding",
             std::string(name_of(kind)), kAcceptedWeights);
  for (const model::PackedModelLayer& layer : weights.layers) {
    const auto* const attention = std::get_if<model::PackedGroupedQuery>(&layer.attention);
    const auto* const network = std::get_if<model::PackedFeedForward>(&layer.feed_forward);
    if (attention == nullptr || network == nullptr) continue;  // the configuration says so
    parts.readable("attention", attention->qkv).readable("attention", attention->output);
    parts.readable("the feed-forward network", network->gate_up)
        .readable("the feed-forward network", network->down);
  }
  parts.readable("the head", weights.head);
}

}  // namespace

std::optional<WeightKind> weight_kind(linear::PanelKind kind) {
  switch (kind) {
    case linear::PanelKind::f32:
      return WeightKind::f32;
    case linear::PanelKind::f16:
      return WeightKind::f16;
    case linear::PanelKind::bf16:
      return WeightKind::bf16;
    default:
      return {};
  }
}

tl::expected<GpuModel, std::string> GpuModel::of(const model::Transformer& transformer) {
  const model::ModelConfig& c = transformer.config();
  Parts parts;
  check_attention(c, parts);
  parts.that(!c.experts, "mixture of experts", "there", "none");
  check_weights(transformer.weights(), parts);
  if (!parts.missing().empty()) return tl::unexpected(parts.missing());
  return GpuModel(transformer);
}

}  // namespace forge::gpu
