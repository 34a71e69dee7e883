#include "canonical_layers.h"

#include "forge/gpu/kernels.h"

namespace forge::gpu {
namespace {

std::variant<GroupedQueryPass, LatentPass> attention_of(const model::ModelConfig& model,
                                                        const Capacity& capacity,
                                                        Allocator& allocator) {
  if (std::holds_alternative<model::LatentConfig>(model.attention)) {
    return LatentPass(model, capacity, allocator);
  }
  return GroupedQueryPass(model, capacity, allocator);
}

}  // namespace

CanonicalLayers::CanonicalLayers(const model::ModelConfig& model, const Capacity& capacity,
                                 Allocator& allocator)
    : model_(model),
      normed_(allocator.rows(capacity.slab_rows, model.hidden_size, "normed")),
      attention_(attention_of(model, capacity, allocator)),
      mlp_(model.ffn_size, capacity, allocator) {
  if (model.experts) experts_.emplace(model, capacity, allocator);
}

void CanonicalLayers::run(const DevicePass& pass, const DeviceWeights& weights, float* hidden,
                          int count) const {
  for (int layer = 0; layer < count; ++layer) run_layer(pass, weights.layer(layer), hidden, layer);
}

/// Where norms are around, the body writes to what it has read: only its last launch writes, and by
/// then nothing reads it any more.
template <class Body>
void CanonicalLayers::run_sub_layer(const DevicePass& pass, const Norms& norms, float* hidden,
                                    const Body& body) const {
  auto* const normed = normed_.as<float>();
  RmsNormArgs args{.counts = pass.counts,
                   .logits = nullptr,
                   .x = hidden,
                   .weight = norms.first,
                   .y = normed,
                   .size = model_.hidden_size,
                   .eps = model_.norm_eps};
  if (model_.norm == model::NormPlacement::before) {
    pass.queue.launch(args, pass.all_rows().most);
    body(normed, {.y = hidden, .accumulate = true, .multiplier = model_.residual_multiplier});
    return;
  }
  if (model_.norm == model::NormPlacement::around) {
    pass.queue.launch(args, pass.all_rows().most);
    body(normed, {.y = normed});
    args.weight = norms.second;
  } else {
    body(hidden, {.y = normed});
  }
  args.x = normed;
  args.y = hidden;
  args.multiplier = model_.residual_multiplier;
  args.accumulate = true;
  pass.queue.launch(args, pass.all_rows().most);
}

void CanonicalLayers::run_layer(const DevicePass& pass, const DeviceLayer& w, float* hidden,
                                int layer) const {
  run_sub_layer(pass, {w.attention_norm, w.attention_post_norm}, hidden,
                [&](const float* x, const Output& to) {
                  if (const auto* latent = std::get_if<DeviceLatent>(&w.attention)) {
                    std::get<LatentPass>(attention_).run(pass, *latent, layer, x, to);
                  } else {
                    std::get<GroupedQueryPass>(attention_)
                        .run(pass, std::get<DeviceGroupedQuery>(w.attention), layer, x, to);
                  }
                });
  run_sub_layer(pass, {w.mlp_norm, w.mlp_post_norm}, hidden, [&](const float* x, const Output& to) {
    if (const auto* experts = std::get_if<DeviceExperts>(&w.mlp)) {
      experts_->run(pass, *experts, x, to);
    } else {
      mlp_.run(pass, std::get<DeviceMlp>(w.mlp), x, to);
    }
  });
}

void CanonicalLayers::make_logits(const DevicePass& pass, const DeviceWeights& weights,
                                  const float* hidden, const HeadResults& to) const {
  const RowCount rows = pass.rows_with_logits();
  pass.queue.launch(RmsNormArgs{.counts = pass.counts,
                                .logits = pass.logits,
                                .x = hidden,
                                .weight = weights.final_norm(),
                                .y = normed_.as<float>(),
                                .size = model_.hidden_size,
                                .eps = model_.norm_eps},
                    rows.most);
  project(pass, rows, normed_.as<float>(), weights.head(),
          {.y = to.logits, .multiplier = 1 / model_.logits_divisor, .cap = model_.logits_cap});
}

}  // namespace forge::gpu
