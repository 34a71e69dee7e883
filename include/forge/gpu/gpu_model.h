// GpuModel: a model that a GPU can run: its architecture and its packed weights, on the host.
//
// GpuExecutor uploads the panels as the CPU reads them (linear/linear_weights.h), so both compute
// from the same numbers in the same order. There are kernels for every ModelConfig; weights that
// they do not read (experts, or heads of latents, of different types or in act-order, an embedding
// in act-order) are refused here, by name, before any memory is taken.
//
// Borrows the Transformer. Thread contract: a value.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/model/transformer.h"

namespace forge::gpu {

class GpuModel {
 public:
  /// The transformer must live until GpuExecutor::create() has returned. Errors: the first weights
  /// that no kernel reads:
  /// "the weights' types of the experts differ, accepted on a GPU: the same for all".
  static tl::expected<GpuModel, std::string> of(const model::Transformer& transformer);

  const model::ModelConfig& config() const { return *config_; }
  const model::PackedModel& weights() const { return *weights_; }

 private:
  explicit GpuModel(const model::Transformer& transformer)
      : config_(&transformer.config()), weights_(&transformer.weights()) {}

  const model::ModelConfig* config_;
  const model::PackedModel* weights_;
};

/// What an executor runs: a model, and perhaps a smaller one that drafts for it.
struct GpuModels {
  // NOLINTNEXTLINE(google-explicit-constructor): a model alone is the usual case
  GpuModels(GpuModel of_model, std::optional<GpuModel> of_draft = {})
      : model(of_model), draft(of_draft) {}

  GpuModel model;
  std::optional<GpuModel> draft;  ///< its vocabulary is not larger than the model's
};

}  // namespace forge::gpu
