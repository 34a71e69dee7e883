#include "fast_layers.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

/// Of a sub-layer: of what it reads, and of what it adds; null where there is none.
struct SubLayerNorms {
  const float* before;
  const float* after;
};
SubLayerNorms norms_of(model::NormPlacement placement, const float* first, const float* second) {
  if (placement == model::NormPlacement::after) return {nullptr, first};
  return {first, second};
}

std::variant<FastGroupedQuery, FastLatent> attention_of(const model::ModelConfig& model,
                                                        numerics::HalfType type,
                                                        const Capacity& capacity,
                                                        Allocator& allocator) {
  if (std::holds_alternative<model::LatentConfig>(model.attention)) {
    return FastLatent(model, type, capacity, allocator);
  }
  return FastGroupedQuery(model, type, capacity, allocator);
}

}  // namespace

FastLayers::FastLayers(const model::ModelConfig& model, numerics::HalfType type,
                       const Capacity& capacity, Allocator& allocator)
    : model_(model),
      products_(type, capacity),
      attention_(attention_of(model, type, capacity, allocator)) {
  const std::uint64_t rows = capacity.slab_rows;
  const int d = model.hidden_size;
  rows_ = halves(allocator, rows, d, "rows that products read");
  squares_ = allocator.rows(rows, d / numerics::kSquaresGroup, "squares of rows");
  gated_ = halves(allocator, rows, model.ffn_size, "gated");
  if (model.experts) experts_.emplace(model, type, capacity, allocator);
  if (model.norm != model::NormPlacement::before) added_ = allocator.rows(rows, d, "added");
}

void FastLayers::run(const DevicePass& pass, const DeviceWeights& weights, float* hidden,
                     int count) const {
  const auto norms_of_attention = [&](int layer) {
    const DeviceLayer& w = weights.layer(layer);
    return norms_of(model_.norm, w.attention_norm, w.attention_post_norm);
  };
  scale_rows(pass, {hidden, nullptr, norms_of_attention(0).before, true});
  for (int layer = 0; layer < count; ++layer) {
    const DeviceLayer& w = weights.layer(layer);
    const SubLayerNorms of_mlp = norms_of(model_.norm, w.mlp_norm, w.mlp_post_norm);
    run_attention(pass, w, layer, {hidden, norms_of_attention(layer).after, of_mlp.before, true});
    const bool is_read = layer + 1 < count;
    const Residual of_layer{hidden, of_mlp.after,
                            is_read ? norms_of_attention(layer + 1).before : nullptr, is_read};
    std::visit([&](const auto& mlp) { run_mlp(pass, mlp, of_layer); }, w.mlp);
  }
}

void FastLayers::make_logits(const DevicePass& pass, const DeviceWeights& weights,
                             const float* hidden, const HeadResults& to) const {
  const RowCount rows = pass.rows_with_logits();
  pass.queue.launch(ScaleRowsArgs{.counts = pass.counts,
                                  .logits = pass.logits,
                                  .x = hidden,
                                  .weight = weights.final_norm(),
                                  .h = rows_.as<void>(),
                                  .squares = squares_.as<float>(),
                                  .size = model_.hidden_size,
                                  .type = products_.type()},
                    rows.most);
  const FastRows input{rows_.as<void>(), {squares_.as<float>(), model_.norm_eps}};
  TensorProduct head = products_.of(rows, input, weights.head());
  head.multiplier = 1 / model_.logits_divisor;
  head.cap = model_.logits_cap;
  head.y = to.logits;
  head.candidates = to.candidates;
  products_.multiply(pass, head, weights.head());
}

/// For the first sub-layer, and for all of them where norms do not come before alone.
void FastLayers::scale_rows(const DevicePass& pass, const Residual& residual) const {
  const float* const weight = residual.next_norm;
  pass.queue.launch(ScaleRowsArgs{.counts = pass.counts,
                                  .logits = nullptr,
                                  .x = residual.hidden,
                                  .weight = weight,
                                  .h = rows_.as<void>(),
                                  .squares = weight == nullptr ? nullptr : squares_.as<float>(),
                                  .size = model_.hidden_size,
                                  .type = products_.type()},
                    pass.all_rows().most);
}

FastRows FastLayers::scaled_rows() const {
  const bool has_norm = model_.norm != model::NormPlacement::after;
  return {rows_.as<void>(), {has_norm ? squares_.as<float>() : nullptr, model_.norm_eps}};
}

void FastLayers::run_attention(const DevicePass& pass, const DeviceLayer& weights, int layer,
                               const Residual& residual) const {
  std::visit(
      [&]<class Attention>(const Attention& attention) {
        const auto& its_own = std::get<typename Attention::Weights>(weights.attention);
        add(pass, attention.run(pass, its_own, layer, scaled_rows()), its_own.output, residual);
      },
      attention_);
}

void FastLayers::run_mlp(const DevicePass& pass, const DeviceMlp& weights,
                         const Residual& residual) const {
  TensorProduct gate_up = products_.of(pass.all_rows(), scaled_rows(), weights.gate_up);
  gate_up.gated = {.h = gated_.as<void>(), .function = weights.glu};
  products_.multiply(pass, gate_up, weights.gate_up);
  add(pass, {gated_.as<void>()}, weights.down, residual);
}

void FastLayers::run_mlp(const DevicePass& pass, const DeviceExperts& weights,
                         const Residual& residual) const {
  experts_->run(pass, weights, scaled_rows(), sum_of(residual), next_rows(residual));
  add_normed(pass, residual);
}

/// hidden += m x W^T, and what the next sub-layer reads of it.
void FastLayers::add(const DevicePass& pass, const FastRows& x, const DeviceMatrix& matrix,
                     const Residual& residual) const {
  const Output to = sum_of(residual);
  TensorProduct sum = products_.of(pass.all_rows(), x, matrix);
  sum.y = to.y;
  sum.accumulate = to.accumulate;
  sum.multiplier = to.multiplier;
  sum.next = next_rows(residual);
  products_.multiply(pass, sum, matrix);
  add_normed(pass, residual);
}

/// Where a sub-layer adds, or leaves what add_normed adds.
Output FastLayers::sum_of(const Residual& residual) const {
  if (model_.norm != model::NormPlacement::before) return {.y = added_.as<float>()};
  return {.y = residual.hidden, .accumulate = true, .multiplier = model_.residual_multiplier};
}

/// What whoever adds leaves for the next sub-layer. Where a norm comes after, nothing.
NextRows FastLayers::next_rows(const Residual& residual) const {
  if (model_.norm != model::NormPlacement::before || !residual.is_read) return {};
  return {.h = rows_.as<void>(), .weight = residual.next_norm, .squares = squares_.as<float>()};
}

/// Where a norm comes after a sub-layer: the sum, and what the next one reads of it.
void FastLayers::add_normed(const DevicePass& pass, const Residual& residual) const {
  if (model_.norm == model::NormPlacement::before) return;
  pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                .logits = nullptr,
                                .x = added_.as<float>(),
                                .weight = residual.post_norm,
                                .y = residual.hidden,
                                .size = model_.hidden_size,
                                .eps = model_.norm_eps,
                                .multiplier = model_.residual_multiplier,
                                .accumulate = true},
                    pass.all_rows().most);
  if (residual.is_read) scale_rows(pass, residual);
}

}  // namespace forge::gpu
