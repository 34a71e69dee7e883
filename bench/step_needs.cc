#include "step_needs.h"

#include <algorithm>
#include <cmath>

#include "forge/core/check.h"
#include "forge/linear/matrix_rows.h"
#include "forge/model/transformer.h"
#include "forge/model/weight_roles.h"

namespace forge {
namespace {

std::uint64_t weights_of(const linear::LinearWeights& matrix) {
  return static_cast<std::uint64_t>(matrix.outputs()) * static_cast<std::uint64_t>(matrix.inputs());
}

std::uint64_t rounded(double number) { return static_cast<std::uint64_t>(std::llround(number)); }

/// Of the matrices of all layers.
struct LayerMatrices {
  double weights = 0;  ///< that each row meets
  double bytes = 0;    ///< of those that any of the rows meets

  LayerMatrices(const model::PackedModel& layout, std::uint64_t rows) {
    for (const model::PackedModelLayer& layer : layout.layers) {
      const auto add_all = [&](const auto& part) { add(part, 1, 1); };
      std::visit(add_all, layer.attention);
      std::visit(add_all, layer.mlp);
      if (const auto* const mlp = std::get_if<model::PackedExperts>(&layer.mlp)) {
        const double met = static_cast<double>(mlp->config.experts_per_token) / mlp->config.experts;
        const double missed = std::pow(1 - met, static_cast<double>(rows));
        for (const model::PackedMlp& expert : mlp->experts) add(expert, met - 1, -missed);
      }
    }
  }

 private:
  /// A part of a layer, of whose weights a row meets `met`, and all rows together `read`.
  void add(const auto& part, double met, double read) {
    model::for_each_matrix(part, [&](const linear::LinearWeights& matrix) {
      weights += met * static_cast<double>(weights_of(matrix));
      bytes += read * static_cast<double>(matrix.bytes());
    });
  }
};

/// Numbers that a row with a key and its value is multiplied with, in all heads of a layer.
std::uint64_t numbers_of_pair(const model::GroupedQueryConfig& attention) {
  FORGE_CHECK(attention.sliding_window == 0, "window ", attention.sliding_window);
  return 2 * static_cast<std::uint64_t>(attention.heads * attention.head_size);
}
std::uint64_t numbers_of_pair(const model::LatentConfig& attention) {
  const int of_head = 2 * attention.kv_rank + attention.rope_size;
  return static_cast<std::uint64_t>(attention.heads * of_head);
}

/// Bytes of an embedding, which lies among others in a panel where it is of codes.
std::uint64_t embedding_bytes(const linear::StoredLinear& embedding) {
  const linear::PanelKind kind = linear::panel_kind(embedding);
  if (!linear::has_codes(kind)) return linear::row_bytes(embedding);
  return linear::panel_bytes(kind, embedding.inputs) / linear::kPanelOutputs;
}

/// The numbers of all vectors but the final norm's.
std::uint64_t layer_norms(const model::StoredModel& stored) {
  std::uint64_t numbers = 0;
  model::for_each_weight(
      stored, [](const std::string&, const linear::StoredLinear&) {},
      [&](const std::string&, const std::vector<float>& vector) { numbers += vector.size(); });
  return numbers - stored.final_norm.size();
}

}  // namespace

StepNeeds& StepNeeds::operator+=(const StepNeeds& other) {
  weights += other.weights;
  norms += other.norms;
  embedding += other.embedding;
  kv_read += other.kv_read;
  kv_written += other.kv_written;
  operations += other.operations;
  return *this;
}

StepNeeds needs_of(const gpu::GpuModel& model, numerics::KvType kv_type, const StepPlan& plan) {
  const model::ModelConfig& config = model.config();
  std::uint64_t rows = 0;
  std::uint64_t rows_with_logits = 0;
  std::uint64_t keys = 0;   // of all sequences
  std::uint64_t pairs = 0;  // of a row and a key that it sees
  for (const Slice& slice : plan.slices) {
    const std::uint64_t first = slice.first;
    const std::uint64_t count = slice.count;
    rows += count;
    rows_with_logits += slice.samples ? 1 : 0;
    keys += first + count;
    pairs += count * first + count * (count + 1) / 2;
  }
  const LayerMatrices of_layers(model.layout(), rows);
  const linear::LinearWeights& head = model.layout().head;
  const bool has_logits = rows_with_logits > 0;
  const std::uint64_t norms =
      layer_norms(model.stored()) + (has_logits ? model.stored().final_norm.size() : 0);
  const std::uint64_t token_bytes =
      model::kv_shape(config).token_numbers() * numerics::bytes_of(kv_type);
  const auto layers = static_cast<std::uint64_t>(config.layers);
  const std::uint64_t of_pair = std::visit(
      [](const auto& attention) { return numbers_of_pair(attention); }, config.attention);
  return {.weights = rounded(of_layers.bytes) + (has_logits ? head.bytes() : 0),
          .norms = norms * sizeof(float),
          .embedding = rows * embedding_bytes(model.stored().embedding),
          .kv_read = keys * token_bytes,
          .kv_written = rows * token_bytes,
          .operations = 2 * (rows * rounded(of_layers.weights) +
                             rows_with_logits * weights_of(head) + pairs * layers * of_pair)};
}

std::optional<double> light_us(const StepNeeds& needs, const BestRates& rates) {
  if (!rates.product_tflops) return std::nullopt;
  const double moving_us = static_cast<double>(needs.bytes()) / rates.copy_gb_per_s / 1e3;
  const double computing_us = static_cast<double>(needs.operations) / *rates.product_tflops / 1e6;
  return std::max(moving_us, computing_us);
}

}  // namespace forge
