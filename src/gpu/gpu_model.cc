#include "forge/gpu/gpu_model.h"

#include <algorithm>
#include <functional>
#include <string>

#include "fast_shapes.h"
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

}  // namespace

tl::expected<GpuModel, std::string> GpuModel::of(const model::ModelConfig& config,
                                                 const model::StoredModel& stored,
                                                 linear::ThreadPool& threads,
                                                 linear::WeightReader* reader,
                                                 GpuNumerics numerics) {
  static linear::MemoryReader memory;
  const bool is_fast = numerics == GpuNumerics::fast;
  GpuModel model;
  model.numerics_ = numerics;
  model.config_ = &config;
  model.stored_ = &stored;
  model.threads_ = &threads;
  model.reader_ = reader == nullptr ? &memory : reader;
  model.layout_ =
      std::make_shared<const model::PackedModel>(packed_layout(config, stored, {.rows = is_fast}));
  WeightsCheck check;
  check.of(model.layout());
  if (!check.missing().empty()) return tl::unexpected(check.missing());
  if (is_fast) {
    if (auto taken = takes_fast(config, model.layout()); !taken) {
      return tl::unexpected(taken.error());
    }
  }
  return model;
}

numerics::HalfType GpuModel::half_type() const { return gpu::half_type(layout()); }

tl::expected<model::PackedModel, model::PackFault> GpuModel::load(linear::PanelStore& store) const {
  return pack(*config_, *stored_, *threads_,
              {.numerics = linear::Numerics::canonical,
               .reader = reader_,
               .store = &store,
               .rows = numerics_ == GpuNumerics::fast});
}

}  // namespace forge::gpu
