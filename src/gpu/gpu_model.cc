#include "forge/gpu/gpu_model.h"

#include "forge/linear/linear_weights.h"

namespace forge::gpu {
namespace {

constexpr const char* kAcceptedWeights = "f32, f16 or bf16";

/// Holds the weights of a model against what the kernels read; keeps the first that they do not.
class WeightsCheck {
 public:
  void that(bool holds, const std::string& part, std::string_view value, const char* accepted) {
    if (!holds && missing_.empty()) {
      missing_ = "the weights' type of " + part + " is " + std::string(value) +
                 ", accepted on a GPU: " + accepted;
    }
  }

  void of(const std::string& part, const linear::LinearWeights& weights) {
    for (const linear::Section& section : weights.sections()) {
      that(weight_kind(section.kind).has_value(), part, name_of(section.kind), kAcceptedWeights);
    }
  }

  /// Matrices that one launch goes through have one kind.
  void alike(const std::string& part, const linear::LinearWeights& weights,
             const linear::LinearWeights& first) {
    of(part, weights);
    const linear::PanelKind kind = first.sections().front().kind;
    that(weights.sections().size() == 1 && weights.sections().front().kind == kind, part, "mixed",
         "one type for all");
  }

  void of(const model::PackedGroupedQuery& attention) {
    of("attention", attention.qkv);
    of("attention", attention.output);
  }

  void of(const model::PackedLatent& attention) {
    for (const auto* matrix :
         {&attention.query_down, &attention.query_up, &attention.kv_down, &attention.output}) {
      of("attention", *matrix);
    }
    for (const auto* heads : {&attention.key_up, &attention.value_up}) {
      for (const linear::LinearWeights& head : *heads)
        alike("attention's heads", head, (*heads)[0]);
    }
  }

  void of(const model::PackedMlp& mlp) {
    of("the MLP", mlp.gate_up);
    of("the MLP", mlp.down);
  }

  void of(const model::PackedExperts& experts) {
    of("the router", experts.router);
    const model::PackedMlp& first = experts.experts.front();
    for (const model::PackedMlp& expert : experts.experts) {
      alike("the experts", expert.gate_up, first.gate_up);
      alike("the experts", expert.down, first.down);
    }
    if (experts.shared) of(*experts.shared);
  }

  void of(const model::PackedModel& model) {
    const linear::PanelKind kind = linear::panel_kind(model.embedding);
    const bool is_rows = std::holds_alternative<linear::StoredRows>(model.embedding.form);
    that(is_rows && weight_kind(kind), "the embedding", name_of(kind), kAcceptedWeights);
    const auto part = [&](const auto& alternative) { of(alternative); };
    for (const model::PackedModelLayer& layer : model.layers) {
      std::visit(part, layer.attention);
      std::visit(part, layer.mlp);
    }
    of("the head", model.head);
  }

  const std::string& missing() const { return missing_; }

 private:
  std::string missing_;
};

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
  WeightsCheck check;
  check.of(transformer.weights());
  if (!check.missing().empty()) return tl::unexpected(check.missing());
  return GpuModel(transformer);
}

}  // namespace forge::gpu
