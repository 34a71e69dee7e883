#include "forge/gpu/gpu_model.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "forge/core/range.h"
#include "forge/linear/linear_weights.h"

namespace forge::gpu {
namespace {

/// Holds the weights of a model against what the kernels read; keeps the first that they do not.
class WeightsCheck {
 public:
  /// Matrices that one launch goes through: heads, or a matrix of each expert. All need the same
  /// sections, and inputs in one order, the usual one.
  template <class Matrices, class Projection = std::identity>
  void alike(const std::string& part, const Matrices& matrices, Projection matrix_of = {}) {
    const auto& first = std::invoke(matrix_of, matrices[0]);
    for (const auto& one : matrices) {
      const linear::LinearWeights& matrix = std::invoke(matrix_of, one);
      const bool fits = std::ranges::equal(
          matrix.sections(), first.sections(),
          [](const auto& a, const auto& b) { return a.kind == b.kind && a.outputs == b.outputs; });
      that(fits, "the weights' types of " + part + " differ", "the same for all");
      const bool ordered =
          std::ranges::any_of(matrix.sections(), [](const auto& s) { return !s.order.empty(); });
      that(!ordered, part + " have inputs in an order of their own (act-order)", "the usual one");
    }
  }
  void alike(const model::PackedLatent& attention) {
    alike("the heads of attention", attention.key_up);
    alike("the heads of attention", attention.value_up);
  }
  void alike(const model::PackedExperts& mlp) {
    alike("the experts", mlp.experts, &model::PackedMlp::gate_up);
    alike("the experts", mlp.experts, &model::PackedMlp::down);
  }
  void alike(const auto&) {}  // whose launches have one matrix each

  void of(const model::PackedModel& model) {
    const auto* const groups = std::get_if<linear::StoredGroups>(&model.embedding.form);
    that(groups == nullptr || groups->order.empty(),
         "the embedding has inputs in an order of its own (act-order)", "the usual one");
    for (const model::PackedModelLayer& layer : model.layers) {
      std::visit([&](const auto& attention) { alike(attention); }, layer.attention);
      std::visit([&](const auto& mlp) { alike(mlp); }, layer.mlp);
    }
  }

  const std::string& missing() const { return missing_; }

 private:
  void that(bool holds, const std::string& property, const char* accepted) {
    if (!holds && missing_.empty()) missing_ = property + ", accepted on a GPU: " + accepted;
  }

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
