// GpuModel: a model that a GPU can run: its architecture, and its weights as they are stored.
//
// GpuExecutor packs the weights into the panels that the CPU reads (linear/linear_weights.h), a few
// MiB at a time, and brings them to the device: both compute from the same numbers in the same
// order, and the host needs no memory for a model. There are kernels for every ModelConfig; weights
// that they do not read (experts, or heads of latents, of different types or in act-order, an
// embedding in act-order) are refused here, by name, before any memory is taken.
//
// Example, given `const model::ModelConfig& config`, `const model::StoredModel& stored`,
// `linear::ThreadPool& threads`, `Device& device` and `const executor::ExecutorOptions& options`,
// with `#include "forge/gpu/gpu_executor.h"`:
//
//   const auto model = GpuModel::of(config, stored, threads);
//   if (!model) return model.error();
//   auto executor = GpuExecutor::create(device, *model, options);
//   if (!executor) return to_string(executor.error());
//   ...
//
// Borrows everything. Thread contract: a value.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "forge/core/names.h"
#include "forge/linear/panel_store.h"
#include "forge/linear/thread_pool.h"
#include "forge/linear/weight_reader.h"
#include "forge/model/model_config.h"
#include "forge/model/packed_model.h"
#include "forge/model/stored_model.h"
#include "forge/numerics/half.h"

namespace forge::gpu {

/// Which bits a GPU computes.
enum class GpuNumerics : std::uint8_t {
  canonical,  ///< those of the CPU (linear/numerics.h), for every model
  fast        ///< those of tensor cores (numerics/fast.h), for models that they take; some weights
              ///< are rounded to 16 bits for them (PackOptions::rows)
};
constexpr Names<GpuNumerics> names_of(GpuNumerics) { return {"canonical", "fast"}; }

class GpuModel {
 public:
  /// `threads` pack the weights, `reader` reads them: null if all are in memory. All must live
  /// until GpuExecutor::create() has returned. Errors: the first weights that no kernel reads:
  /// "the weights' types of the experts differ, accepted on a GPU: the same for all"; or, with fast
  /// numerics, what of the model tensor cores do not take: "head size 24, accepted with fast
  /// numerics: a multiple of 16". Requires: `stored` has the shapes of `config`, which is valid.
  static tl::expected<GpuModel, std::string> of(const model::ModelConfig& config,
                                                const model::StoredModel& stored,
                                                linear::ThreadPool& threads,
                                                linear::WeightReader* reader = nullptr,
                                                GpuNumerics numerics = GpuNumerics::canonical);

  const model::ModelConfig& config() const { return *config_; }
  const model::StoredModel& stored() const { return *stored_; }
  linear::ThreadPool& threads() const { return *threads_; }
  const linear::WeightReader& reader() const { return *reader_; }
  GpuNumerics numerics() const { return numerics_; }

  /// The type of the rows between the kernels of fast numerics: that of weights of 16 bits; of
  /// codes alone bf16.
  numerics::HalfType half_type() const;

  /// The packed model without its panels (packed_model.h).
  const model::PackedModel& layout() const { return *layout_; }

  /// Packs the model's matrices into `store`.
  tl::expected<model::PackedModel, model::PackFault> load(linear::PanelStore& store) const;

 private:
  GpuModel() = default;

  const model::ModelConfig* config_ = nullptr;
  const model::StoredModel* stored_ = nullptr;
  linear::ThreadPool* threads_ = nullptr;
  linear::WeightReader* reader_ = nullptr;
  GpuNumerics numerics_ = GpuNumerics::canonical;
  std::shared_ptr<const model::PackedModel> layout_;
};

/// What an executor runs: a model, and perhaps a smaller one that drafts for it.
struct GpuModels {
  // NOLINTNEXTLINE(google-explicit-constructor): a model alone is the usual case
  GpuModels(GpuModel of_model, std::optional<GpuModel> of_draft = {})
      : model(std::move(of_model)), draft(std::move(of_draft)) {}

  GpuModel model;
  std::optional<GpuModel> draft;  ///< its vocabulary is not larger than the model's
};

}  // namespace forge::gpu
