#include "forge/gpu/gpu_model.h"

#include <functional>
#include <string>
#include <utility>

#include "forge/core/range.h"
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

  /// Matrices that one launch goes through: heads, or a matrix of each expert.
  template <class Matrices, class Projection = std::identity>
  void alike(const std::string& part, const Matrices& matrices, Projection matrix_of = {}) {
    const linear::PanelKind kind = std::invoke(matrix_of, matrices[0]).sections().front().kind;
    for (const auto& one : matrices) {
      const auto sections = std::invoke(matrix_of, one).sections();
      that(sections.size() == 1 && sections.front().kind == kind, part, "mixed",
           "one type for all");
    }
  }
  void alike(const model::PackedLatent& attention) {
    alike("attention's heads", attention.key_up);
    alike("attention's heads", attention.value_up);
  }
  void alike(const model::PackedExperts& mlp) {
    alike("the experts", mlp.experts, &model::PackedMlp::gate_up);
    alike("the experts", mlp.experts, &model::PackedMlp::down);
  }
  void alike(const auto&) {}  // whose launches have one matrix each

  void of(const model::PackedModel& model) {
    const linear::PanelKind kind = linear::panel_kind(model.embedding);
    const bool is_rows = std::holds_alternative<linear::StoredRows>(model.embedding.form);
    that(is_rows && weight_kind(kind), "the embedding", name_of(kind), kAcceptedWeights);
    const auto part = [&](const char* name) {
      return [this, name](const auto& alternative) {
        for_each_matrix(alternative, [&](const auto& matrix) { of(name, matrix); });
        alike(alternative);
      };
    };
    for (const model::PackedModelLayer& layer : model.layers) {
      std::visit(part("attention"), layer.attention);
      std::visit(part("the MLP"), layer.mlp);
    }
    of("the head", model.head);
  }

  const std::string& missing() const { return missing_; }

 private:
  std::string missing_;
};

/// The first property of a model for which there is no kernel; empty: there are kernels for all.
std::string missing_property(const model::ModelConfig& model) {
  std::string missing;
  const auto accept = [&](bool holds, const std::string& property, const std::string& accepted) {
    if (!holds && missing.empty()) missing = property + ", accepted on a GPU: " + accepted;
  };
  const bool is_clamped = model.activation == model::Activation::clamped_swiglu;
  accept(model.activation == model::Activation::silu,
         std::string("the activation is ") + (is_clamped ? "clamped_swiglu" : "gelu_tanh"), "silu");
  accept(model.logits_cap == 0,
         "the logits have a soft cap, " + number_text(double{model.logits_cap}), "none");
  if (const auto* grouped = std::get_if<model::GroupedQueryConfig>(&model.attention)) {
    accept(grouped->score_cap == 0,
           "the scores of attention have a soft cap, " + number_text(double{grouped->score_cap}),
           "none");
    accept(!grouped->sinks, "the heads of attention have sinks", "none");
  }
  const bool is_plain =
      std::holds_alternative<model::GroupedQueryConfig>(model.attention) && !model.experts;
  accept(model.norm != model::NormPlacement::around || is_plain,
         "norms are around experts or attention over latents",
         "around grouped-query attention and a dense MLP");
  accept(!model.experts || !model.experts->shared_gate, "the shared experts have a gate", "none");
  accept(!model.experts || !model.experts->router_bias, "the router has biases", "none");
  accept(!model.experts || !model.experts->expert_bias, "the experts have biases", "none");
  return missing;
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
  if (std::string missing = missing_property(transformer.config()); !missing.empty()) {
    return tl::unexpected(std::move(missing));
  }
  WeightsCheck check;
  check.of(transformer.weights());
  if (!check.missing().empty()) return tl::unexpected(check.missing());
  return GpuModel(transformer);
}

}  // namespace forge::gpu
