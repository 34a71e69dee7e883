#include "forge/reference/tiny_transformer.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/numerics/attention.h"
#include "forge/numerics/vector_ops.h"

namespace forge::reference {
namespace {

/// Memory for `rows` rows of `width`; keeps what is there when it suffices.
void grow(std::vector<float>& buffer, int rows, int width) {
  const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
  if (buffer.size() < size) buffer.resize(size);
}

float* row_of(std::vector<float>& buffer, int row, int width) {
  return buffer.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(width);
}

void reserve(const TinyConfig& c, const model::ForwardBatch& batch, Scratch& scratch) {
  const int rows = batch.rows();
  scratch.rotary.ensure(*std::max_element(batch.positions.begin(), batch.positions.end()) + 1);
  grow(scratch.hidden, rows, c.hidden_size);
  grow(scratch.normed, rows, c.hidden_size);
  grow(scratch.qkv, rows, c.query_size() + 2 * c.kv_size());
  grow(scratch.attended, rows, c.query_size());
  grow(scratch.projected, rows, c.hidden_size);
  grow(scratch.gate_up, rows, 2 * c.ffn_size);
  grow(scratch.gated, rows, c.ffn_size);
}

}  // namespace

model::KvShape kv_shape(const TinyConfig& config) {
  return {.layers = config.layers, .heads = config.kv_heads, .head_size = config.head_size};
}

TinyTransformer::TinyTransformer(const TinyConfig& config)
    : TinyTransformer(config, seeded_weights(config)) {}

TinyTransformer::TinyTransformer(const TinyConfig& config, const Weights& weights)
    : config_(config), weights_(packed(config, weights)) {}

void TinyTransformer::forward(const model::ForwardBatch& batch, model::KvPool& pool,
                              Scratch& scratch, std::span<float> logits, int layers) const {
  FORGE_CHECK(layers >= 1 && layers <= config_.layers, "layers=", layers, " model has ",
              config_.layers);
  if (batch.tokens.empty()) return;
  check_batch(batch, pool.block_size());
  reserve(config_, batch, scratch);
  embed(batch, scratch);
  for (int layer = 0; layer < layers; ++layer) {
    attend(layer, batch, pool, scratch);
    feed_forward(layer, batch.rows(), scratch);
  }
  head(batch, scratch, logits);
}

void TinyTransformer::embed(const model::ForwardBatch& batch, Scratch& scratch) const {
  for (int row = 0; row < batch.rows(); ++row) {
    const std::uint32_t token = batch.tokens[static_cast<std::size_t>(row)].value;
    FORGE_CHECK(token < static_cast<std::uint32_t>(config_.vocabulary_size), "token=", token,
                " vocabulary=", config_.vocabulary_size);
    std::copy_n(weights_.embedding.row(token).data(), config_.hidden_size,
                row_of(scratch.hidden, row, config_.hidden_size));
  }
}

void TinyTransformer::attend(int layer, const model::ForwardBatch& batch, model::KvPool& pool,
                             Scratch& scratch) const {
  const PackedLayer& w = weights_.layers[static_cast<std::size_t>(layer)];
  const int rows = batch.rows();
  const int d = config_.hidden_size;
  for (int row = 0; row < rows; ++row) {
    numerics::rms_norm(row_of(scratch.hidden, row, d), w.attention_norm.data(), d, config_.norm_eps,
                       row_of(scratch.normed, row, d));
  }
  numerics::multiply(scratch.normed.data(), rows, w.qkv, scratch.qkv.data());
  write_kv(layer, batch, pool, scratch);

  const int group_width = config_.group_size() * config_.head_size;
  const float scale = attention_scale(config_);
  for (int row = 0; row < rows; ++row) {
    const auto i = static_cast<std::size_t>(row);
    const float* q = row_of(scratch.qkv, row, w.qkv.outputs());
    float* out = row_of(scratch.attended, row, config_.query_size());
    for (int head = 0; head < config_.kv_heads; ++head) {
      numerics::attend(
          {q + head * group_width, config_.group_size(), scale},
          pool.view({layer, head}, batch.tables[batch.sequences[i]], batch.positions[i] + 1),
          out + head * group_width);
    }
  }
  numerics::multiply(scratch.attended.data(), rows, w.output, scratch.projected.data());
  numerics::add(scratch.hidden.data(), scratch.projected.data(), rows * d);
}

/// Rotates queries and keys, and writes keys and values of all rows: before any row attends,
/// so that rows of one sequence see one another.
void TinyTransformer::write_kv(int layer, const model::ForwardBatch& batch, model::KvPool& pool,
                               Scratch& scratch) const {
  const int D = config_.head_size;
  const int width = config_.query_size() + 2 * config_.kv_size();
  for (int row = 0; row < batch.rows(); ++row) {
    const auto i = static_cast<std::size_t>(row);
    const float* cos = scratch.rotary.cos(batch.positions[i]);
    const float* sin = scratch.rotary.sin(batch.positions[i]);
    float* heads = row_of(scratch.qkv, row, width);
    for (int head = 0; head < config_.heads + config_.kv_heads; ++head) {
      numerics::rotate_pairs(heads + head * D, cos, sin, D / 2);
    }
    const float* keys = heads + config_.query_size();
    const float* values = keys + config_.kv_size();
    for (int head = 0; head < config_.kv_heads; ++head) {
      pool.store({layer, head}, batch.tables[batch.sequences[i]], batch.positions[i],
                 keys + head * D, values + head * D);
    }
  }
}

void TinyTransformer::feed_forward(int layer, int rows, Scratch& scratch) const {
  const PackedLayer& w = weights_.layers[static_cast<std::size_t>(layer)];
  const int d = config_.hidden_size;
  const int F = config_.ffn_size;
  for (int row = 0; row < rows; ++row) {
    numerics::rms_norm(row_of(scratch.hidden, row, d), w.ffn_norm.data(), d, config_.norm_eps,
                       row_of(scratch.normed, row, d));
  }
  numerics::multiply(scratch.normed.data(), rows, w.gate_up, scratch.gate_up.data());
  for (int row = 0; row < rows; ++row) {
    const float* gate = row_of(scratch.gate_up, row, 2 * F);
    numerics::silu_multiply(gate, gate + F, F, row_of(scratch.gated, row, F));
  }
  numerics::multiply(scratch.gated.data(), rows, w.down, scratch.projected.data());
  numerics::add(scratch.hidden.data(), scratch.projected.data(), rows * d);
}

void TinyTransformer::head(const model::ForwardBatch& batch, Scratch& scratch,
                           std::span<float> logits) const {
  const int d = config_.hidden_size;
  const auto wanted = static_cast<int>(batch.logit_rows.size());
  FORGE_CHECK(
      logits.size() >= batch.logit_rows.size() * static_cast<std::size_t>(config_.vocabulary_size),
      "logits=", logits.size(), " rows=", batch.logit_rows.size());
  for (int i = 0; i < wanted; ++i) {
    const auto row = static_cast<int>(batch.logit_rows[static_cast<std::size_t>(i)]);
    FORGE_CHECK(row < batch.rows(), "logit row=", row, " rows=", batch.rows());
    numerics::rms_norm(row_of(scratch.hidden, row, d), weights_.final_norm.data(), d,
                       config_.norm_eps, row_of(scratch.normed, i, d));
  }
  numerics::multiply(scratch.normed.data(), wanted, weights_.head, logits.data());
}

}  // namespace forge::reference
