#include "forge/model/transformer.h"

#include <algorithm>
#include <utility>

#include "forge/core/check.h"
#include "forge/numerics/vector_ops.h"
#include "room.h"

namespace forge::model {
namespace {

using detail::offset;
using detail::room;

/// Tells the observer of `rows` rows of `width` floats.
void observe(const TransformerScratch& scratch, ForwardPoint point, std::optional<int> layer,
             Rows rows, int width) {
  if (!scratch.observer) return;
  const auto size = static_cast<std::size_t>(offset(rows.count, width));
  scratch.observer({point, layer, width, {rows.data, size}});
}

/// The norms of a sub-layer, of what it reads and of what it adds; null: none.
struct SubLayerNorms {
  const std::vector<float>* before = nullptr;
  const std::vector<float>* after = nullptr;
};

/// `norm` is the only one, or the first of two.
SubLayerNorms norms_of(NormPlacement placement, const std::vector<float>& norm,
                       const std::vector<float>& second) {
  switch (placement) {
    case NormPlacement::before:
      return {&norm, nullptr};
    case NormPlacement::after:
      return {nullptr, &norm};
    case NormPlacement::around:
      break;
  }
  return {&norm, &second};
}

/// One sub-layer on the residual stream: norm, body(x, added), norm, sum.
template <class Body>
void run_sub_layer(const ModelConfig& config, const SubLayerNorms& norms, int rows,
                   TransformerScratch& scratch, const Body& body) {
  const int d = config.hidden_size;
  const auto norm_rows = [&](const std::vector<float>& norm, const float* from, float* to) {
    scratch.workers.for_rows(Operation::norm, rows, [&](int row) {
      numerics::rms_norm(from + offset(row, d), norm.data(), d, config.norm_eps,
                         to + offset(row, d));
    });
  };
  float* hidden = scratch.hidden.data();
  float* normed = scratch.normed.data();
  float* added = scratch.added.data();
  if (norms.before != nullptr) norm_rows(*norms.before, hidden, normed);
  body(norms.before != nullptr ? normed : hidden, added);
  if (norms.after != nullptr) norm_rows(*norms.after, added, added);
  scratch.workers.for_rows(Operation::residual, rows, [&](int row) {
    numerics::add_scaled(hidden + offset(row, d), added + offset(row, d),
                         config.residual_multiplier, d);
  });
}

/// Multiplying by one changes no bit, and most models do.
void scale(float* x, float factor, int size) {
  if (factor != 1) numerics::scale(x, factor, size);
}

void check_sizes(const ModelConfig& config) {
  const KvShape shape = kv_shape(config);
  const int most =
      shape.layout == KvLayout::latent ? numerics::kLatentSizeMax : numerics::kHeadSizeMax;
  FORGE_CHECK(shape.head_size <= most, "a KV head has ", shape.head_size,
              " components, attention takes ", most);
}

}  // namespace

KvShape kv_shape(const ModelConfig& config) {
  if (const auto* latent = std::get_if<LatentConfig>(&config.attention)) {
    return {.layers = config.layers,
            .heads = 1,
            .head_size = latent->kv_rank + latent->rope_size,
            .layout = KvLayout::latent};
  }
  const auto& grouped = std::get<GroupedQueryConfig>(config.attention);
  return {.layers = config.layers, .heads = grouped.kv_heads, .head_size = grouped.head_size};
}

TransformerScratch::TransformerScratch(const ModelConfig& config, linear::ThreadPool& threads)
    : workers(threads), rotary(config.rope) {
  if (config.window_rope) window_rotary.emplace(*config.window_rope);
}

Transformer::Transformer(ModelConfig config, PackedModel weights)
    : config_(std::move(config)), weights_(std::move(weights)) {
  FORGE_CHECK(static_cast<int>(weights_.layers.size()) == config_.layers,
              "layers=", weights_.layers.size(), " config=", config_.layers);
  check_sizes(config_);
}

void Transformer::forward(const ForwardBatch& batch, KvPool& pool, TransformerScratch& scratch,
                          std::span<float> logits, int layers) const {
  FORGE_CHECK(layers >= 1 && layers <= config_.layers, "layers=", layers, " model has ",
              config_.layers);
  FORGE_CHECK(pool.shape() == kv_shape(config_), "the pool is of another model");
  if (batch.tokens.empty()) return;
  check_batch(batch, pool.block_size());
  reserve(batch, scratch);
  PassProfile* const profile = scratch.workers.profile();
  if (profile != nullptr) profile->begin_pass(batch.rows());
  embed(batch, scratch);
  for (int layer = 0; layer < layers; ++layer) {
    if (profile != nullptr) profile->enter(layer);
    run_layer(layer, batch, pool, scratch);
  }
  if (profile != nullptr) profile->enter({});
  head(batch, scratch, logits);
  if (profile != nullptr) profile->end_pass();
}

void Transformer::reserve(const ForwardBatch& batch, TransformerScratch& scratch) const {
  const auto positions = *std::max_element(batch.positions.begin(), batch.positions.end()) + 1;
  scratch.rotary.ensure(positions);
  if (scratch.window_rotary) scratch.window_rotary->ensure(positions);
  room(scratch.hidden, batch.rows(), config_.hidden_size);
  room(scratch.normed, batch.rows(), config_.hidden_size);
  room(scratch.added, batch.rows(), config_.hidden_size);
}

void Transformer::embed(const ForwardBatch& batch, TransformerScratch& scratch) const {
  const int d = config_.hidden_size;
  float* hidden = scratch.hidden.data();
  scratch.workers.for_rows(Operation::embedding, batch.rows(), [&](int row) {
    const std::uint32_t token = batch.tokens[static_cast<std::size_t>(row)].value;
    FORGE_CHECK(token < static_cast<std::uint32_t>(config_.vocabulary_size), "token=", token,
                " vocabulary=", config_.vocabulary_size);
    linear::stored_row(weights_.embedding, static_cast<int>(token), hidden + offset(row, d));
    scale(hidden + offset(row, d), config_.embedding_multiplier, d);
  });
  observe(scratch, ForwardPoint::embedding, {}, {hidden, batch.rows()}, d);
}

const RotaryTable* Transformer::rotary_of(int layer, const TransformerScratch& scratch) const {
  const RopeConfig* const rope = rope_of(config_, layer);
  if (rope == nullptr) return nullptr;
  return rope == &config_.rope ? &scratch.rotary : &*scratch.window_rotary;
}

void Transformer::run_layer(int layer, const ForwardBatch& batch, KvPool& pool,
                            TransformerScratch& scratch) const {
  const PackedModelLayer& w = weights_.layers[static_cast<std::size_t>(layer)];
  const AttentionPass pass{config_, layer, batch, pool, rotary_of(layer, scratch), scratch.workers};
  const Rows added = {scratch.added.data(), batch.rows()};
  const auto attention_norms = norms_of(config_.norm, w.attention_norm, w.attention_post_norm);
  run_sub_layer(config_, attention_norms, batch.rows(), scratch, [&](const float* x, float* out) {
    if (const auto* latent = std::get_if<PackedLatent>(&w.attention)) {
      latent_attention(*latent, pass, x, out, scratch.latent);
    } else {
      grouped_query_attention(std::get<PackedGroupedQuery>(w.attention), pass, x, out,
                              scratch.grouped_query);
    }
  });
  observe(scratch, ForwardPoint::attention, layer, added, config_.hidden_size);

  const auto mlp_norms = norms_of(config_.norm, w.mlp_norm, w.mlp_post_norm);
  run_sub_layer(config_, mlp_norms, batch.rows(), scratch, [&](const float* x, float* out) {
    const Rows rows = {x, batch.rows()};
    if (const auto* experts = std::get_if<PackedExperts>(&w.mlp)) {
      run_experts(*experts, rows, out, scratch.experts, scratch.workers);
    } else {
      mlp(std::get<PackedMlp>(w.mlp), rows, out, scratch.mlp, scratch.workers);
    }
  });
  observe(scratch, ForwardPoint::mlp, layer, added, config_.hidden_size);
  observe(scratch, ForwardPoint::layer, layer, {scratch.hidden.data(), batch.rows()},
          config_.hidden_size);
}

void Transformer::head(const ForwardBatch& batch, TransformerScratch& scratch,
                       std::span<float> logits) const {
  const int d = config_.hidden_size;
  const int V = config_.vocabulary_size;
  const auto wanted = static_cast<int>(batch.logit_rows.size());
  FORGE_CHECK(logits.size() >= static_cast<std::size_t>(offset(wanted, V)),
              "logits=", logits.size(), " rows=", wanted);
  float* normed = scratch.normed.data();
  scratch.workers.for_rows(Operation::norm, wanted, [&](int i) {
    const auto row = static_cast<int>(batch.logit_rows[static_cast<std::size_t>(i)]);
    FORGE_CHECK(row < batch.rows(), "logit row=", row, " rows=", batch.rows());
    numerics::rms_norm(scratch.hidden.data() + offset(row, d), weights_.final_norm.data(), d,
                       config_.norm_eps, normed + offset(i, d));
  });
  observe(scratch, ForwardPoint::final_norm, {}, {normed, wanted}, d);
  scratch.workers.multiply(Operation::head, {normed, wanted}, weights_.head, logits.data());
  const float factor = 1.0F / config_.logits_divisor;
  scratch.workers.for_rows(Operation::head, wanted, [&](int i) {
    float* row = logits.data() + offset(i, V);
    scale(row, factor, V);
    if (config_.logits_cap != 0) numerics::soft_cap(row, config_.logits_cap, V);
  });
  observe(scratch, ForwardPoint::logits, {}, {logits.data(), wanted}, V);
}

}  // namespace forge::model
