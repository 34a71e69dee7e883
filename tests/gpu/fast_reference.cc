#include "gpu/fast_reference.h"

#include <algorithm>

#include "forge/linear/linear_weights.h"
#include "forge/linear/product.h"
#include "forge/model/experts.h"
#include "forge/numerics/fast.h"
#include "forge/numerics/vector_ops.h"

namespace forge::testing {

using numerics::BF16;
using numerics::F16;
using numerics::KvType;

namespace {

std::size_t size(int n) { return static_cast<std::size_t>(n); }

const std::vector<float>* given(const std::vector<float>& norm) {
  return norm.empty() ? nullptr : &norm;
}

bool is_f16(const linear::StoredLinear& weights) {
  const auto* const rows = std::get_if<linear::StoredRows>(&weights.form);
  return rows != nullptr && rows->type == quant::WeightType::f16;
}

template <class Half>
std::vector<Half> halves_of(std::span<const float> x) {
  std::vector<Half> halves;
  for (const float number : x) halves.push_back(numerics::half_of<Half>(number));
  return halves;
}

template <class Half>
std::vector<float> product_of_numbers(const numerics::StepModel& step,
                                      const linear::StoredLinear& weights,
                                      std::span<const float> x) {
  const std::vector<Half> halves = halves_of<Half>(x);
  std::vector<float> row(size(weights.inputs));
  std::vector<float> y;
  for (int output = 0; output < weights.outputs; ++output) {
    stored_row(weights, output, row.data());
    y.push_back(numerics::tensor_product<Half>(step, halves_of<Half>(row), halves));
  }
  return y;
}

/// That of codes, with each number rounded.
template <class Half>
std::vector<float> product_of_codes(const linear::StoredLinear& weights, std::vector<float> x) {
  for (float& number : x) number = numerics::to_float(numerics::half_of<Half>(number));
  std::vector<float> y(size(weights.outputs));
  linear::multiply_reference(x.data(), 1, std::span(&weights, 1), y.data());
  return y;
}

float sigmoid(float x) { return numerics::divide(1.0F, 1.0F + numerics::exp(-x)); }

std::vector<float> normed(std::vector<float> x, const std::vector<float>& norm, float eps) {
  for (std::size_t i = 0; i < x.size(); i += norm.size()) {
    numerics::rms_norm(&x[i], norm.data(), static_cast<int>(norm.size()), eps, &x[i]);
  }
  return x;
}

}  // namespace

FastReference::FastReference(const model::ModelConfig& config, const model::StoredModel& stored,
                             const Options& options)
    : config_(config),
      stored_(stored),
      step_(options.step),
      kv_type_(options.kv_type),
      is_f16_(is_f16(stored.embedding)),
      positions_(options.positions),
      rotary_(config.rope),
      window_rotary_(config.window_rope ? *config.window_rope : config.rope) {
  rotary_.ensure(positions_);
  window_rotary_.ensure(positions_);
  if (const auto* const latent = std::get_if<model::LatentConfig>(&config.attention)) {
    kv_heads_ = 1;
    key_size_ = latent->kv_rank + latent->rope_size;
  } else {
    const auto& grouped = std::get<model::GroupedQueryConfig>(config.attention);
    kv_heads_ = grouped.kv_heads;
    key_size_ = grouped.head_size;
  }
  keys_.resize(size(config.layers) * size(kv_heads_) * positions_ * size(key_size_));
  values_.resize(keys_.size());
}

std::vector<float> FastReference::next(std::uint32_t token) {
  const auto placement = config_.norm;
  const bool after = placement == model::NormPlacement::after;
  Vector hidden(size(config_.hidden_size));
  linear::stored_row(stored_.embedding, static_cast<int>(token), hidden.data());
  numerics::scale(hidden.data(), config_.embedding_multiplier, config_.hidden_size);
  for (int layer = 0; layer < config_.layers; ++layer) {
    const model::StoredLayer& w = stored_.layers[size(layer)];
    const Rows seen = scaled(hidden, after ? nullptr : &w.attention_norm, config_.norm_eps);
    add(hidden,
        std::visit([&](const auto& own) { return attended(own, seen, layer); }, w.attention),
        after ? &w.attention_norm : given(w.attention_post_norm));
    const Rows x = scaled(hidden, after ? nullptr : &w.mlp_norm, config_.norm_eps);
    add(hidden, std::visit([&](const auto& mlp) { return made_by(mlp, x); }, w.mlp),
        after ? &w.mlp_norm : given(w.mlp_post_norm));
  }
  const linear::StoredLinear& head = stored_.head ? *stored_.head : stored_.embedding;
  Vector logits = product(head, scaled(hidden, &stored_.final_norm, config_.norm_eps), {});
  numerics::scale(logits.data(), 1 / config_.logits_divisor, config_.vocabulary_size);
  if (config_.logits_cap > 0) {
    numerics::soft_cap(logits.data(), config_.logits_cap, config_.vocabulary_size);
  }
  ++position_;
  return logits;
}

FastReference::Rows FastReference::scaled(const Vector& x, const Vector* norm, float eps) const {
  Rows rows{x};
  if (norm == nullptr) return rows;
  Vector squares;
  for (std::size_t i = 0; i < x.size(); i += numerics::kSquaresGroup) {
    squares.push_back(numerics::group_of_squares(&x[i]));
  }
  for (std::size_t i = 0; i < x.size(); ++i) rows.h[i] = x[i] * (*norm)[i];
  const float sum = numerics::sum_reference(squares.data(), static_cast<int>(squares.size()));
  rows.factor = numerics::scaled_norm_factor(sum, static_cast<int>(x.size()), eps);
  return rows;
}

std::vector<float> FastReference::product(const linear::StoredLinear& weights, const Rows& x,
                                          const Vector& bias) const {
  if (!linear::has_codes(linear::panel_kind(weights))) return routed(weights, x, bias);
  Vector y = is_f16_ ? product_of_codes<F16>(weights, x.h) : product_of_codes<BF16>(weights, x.h);
  return finished(std::move(y), x, bias);
}

std::vector<float> FastReference::routed(const linear::StoredLinear& weights, const Rows& x,
                                         const Vector& bias) const {
  return finished(is_f16_ ? product_of_numbers<F16>(step_, weights, x.h)
                          : product_of_numbers<BF16>(step_, weights, x.h),
                  x, bias);
}

std::vector<float> FastReference::finished(Vector y, const Rows& x, const Vector& bias) {
  for (float& v : y) v = x.factor * v;
  if (!bias.empty()) numerics::add(y.data(), bias.data(), static_cast<int>(y.size()));
  return y;
}

/// Rows first .. of the weights, rounded to 16 bits, times x.
std::vector<float> FastReference::head_product(const linear::StoredLinear& weights, int first,
                                               int outputs, std::span<const float> x) const {
  Vector y;
  Vector row(x.size());
  for (int output = first; output < first + outputs; ++output) {
    linear::stored_row(weights, output, row.data());
    y.push_back(chain(row, x));
  }
  return y;
}

float FastReference::chain(std::span<const float> w, std::span<const float> x) const {
  return is_f16_ ? numerics::tensor_product<F16>(step_, halves_of<F16>(w), halves_of<F16>(x))
                 : numerics::tensor_product<BF16>(step_, halves_of<BF16>(w), halves_of<BF16>(x));
}

/// What attention adds to the residual stream.
std::vector<float> FastReference::attended(const model::StoredGroupedQuery& w, const Rows& x,
                                           int layer) {
  Vector queries = product(w.query, x, w.query_bias);
  Vector keys = product(w.key, x, w.key_bias);
  const Vector values = product(w.value, x, w.value_bias);
  if (!w.query_norm.empty()) {
    queries = normed(std::move(queries), w.query_norm, config_.norm_eps);
    keys = normed(std::move(keys), w.key_norm, config_.norm_eps);
  }
  for (Vector* const heads : {&queries, &keys}) {
    for (std::size_t i = 0; i < heads->size(); i += size(key_size_)) {
      turn(std::span(*heads).subspan(i, size(key_size_)), layer);
    }
  }
  store(keys, layer, keys_);
  store(values, layer, values_);
  return product(w.output, {attend(w, queries, layer)}, w.output_bias);
}

/// The components of a head that turn are the first.
void FastReference::turn(std::span<float> head, int layer) const {
  const model::RopeConfig* const rope = rope_of(config_, layer);
  if (rope == nullptr) return;
  const model::RotaryTable& table = rope == &config_.rope ? rotary_ : window_rotary_;
  const auto rotate = rope->pairing == model::RopePairing::adjacent
                          ? numerics::rotate_adjacent_pairs
                          : numerics::rotate_pairs;
  rotate(head.data(), table.cos(position_), table.sin(position_), rope->size / 2);
}

/// numbers [Hkv][D] of the position.
void FastReference::store(const Vector& numbers, int layer, std::vector<std::uint16_t>& to) const {
  const std::size_t D = size(key_size_);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t plane = size(layer * kv_heads_) + i / D;
    to[(plane * positions_ + position_) * D + i % D] =
        kv_type_ == KvType::f16 ? numerics::stored<F16>(numbers[i]).bits
                                : numerics::stored<BF16>(numbers[i]).bits;
  }
}

std::vector<float> FastReference::attended(const model::StoredLatent& w, const Rows& x, int layer) {
  const auto& c = std::get<model::LatentConfig>(config_.attention);
  const Vector queries = latent_queries(w, x, layer);
  Vector latent = product(w.kv_down, x, {});
  numerics::rms_norm(latent.data(), w.kv_norm.data(), c.kv_rank, c.latent_norm_eps, latent.data());
  turn(std::span(latent).subspan(size(c.kv_rank)), layer);
  store(latent, layer, keys_);
  const std::uint32_t block = 0;
  const numerics::PagedLatent latents{.rows = &keys_[size(layer) * positions_ * size(key_size_)],
                                      .block_stride = 0,
                                      .block_size = static_cast<int>(positions_),
                                      .key_size = key_size_,
                                      .value_size = c.kv_rank,
                                      .blocks = {&block, 1},
                                      .length = static_cast<int>(position_) + 1,
                                      .type = kv_type_};
  Vector values;
  for (int head = 0; head < c.heads; ++head) {
    Vector sums(size(c.kv_rank));
    span_attention_reference(
        step_,
        {.q = &queries[size(head * key_size_)], .heads = 1, .scale = config_.attention_scale},
        latents, sums.data());
    const Vector made =
        w.value_up.empty()
            ? head_product(w.kv_up, head * (c.nope_size + c.value_size) + c.nope_size, c.value_size,
                           sums)
            : head_product(w.value_up[size(head)], 0, c.value_size, sums);
    values.insert(values.end(), made.begin(), made.end());
  }
  return product(w.output, {values}, {});
}

/// Of all heads, in terms of latents, and then what turns.
std::vector<float> FastReference::latent_queries(const model::StoredLatent& w, const Rows& x,
                                                 int layer) const {
  const auto& c = std::get<model::LatentConfig>(config_.attention);
  Rows from = x;
  if (w.query_down) {
    from = scaled(product(*w.query_down, x, {}), &w.query_norm, c.latent_norm_eps);
  }
  Vector plain = product(w.query_up, from, {});
  const std::size_t N = size(c.nope_size);
  const std::size_t head_size = N + size(c.rope_size);
  Vector queries;
  for (int head = 0; head < c.heads; ++head) {
    const std::span query = std::span(plain).subspan(size(head) * head_size, head_size);
    const Vector in_latents = absorbed(w, head, query.first(N));
    queries.insert(queries.end(), in_latents.begin(), in_latents.end());
    turn(query.subspan(N), layer);
    queries.insert(queries.end(), query.begin() + c.nope_size, query.end());
  }
  return queries;
}

/// x [N] of a head in terms of latents [C].
std::vector<float> FastReference::absorbed(const model::StoredLatent& w, int head,
                                           std::span<const float> x) const {
  const auto& c = std::get<model::LatentConfig>(config_.attention);
  if (!w.key_up.empty()) return head_product(w.key_up[size(head)], 0, c.kv_rank, x);
  std::vector<Vector> keys(x.size(), Vector(size(c.kv_rank)));
  for (std::size_t n = 0; n < x.size(); ++n) {
    const int row = head * (c.nope_size + c.value_size) + static_cast<int>(n);
    linear::stored_row(w.kv_up, row, keys[n].data());
  }
  Vector y;
  for (std::size_t i = 0; i < size(c.kv_rank); ++i) {
    Vector column;
    for (const Vector& key : keys) column.push_back(key[i]);
    y.push_back(chain(column, x));
  }
  return y;
}

std::vector<float> FastReference::attend(const model::StoredGroupedQuery& w, const Vector& queries,
                                         int layer) const {
  const auto& attention = std::get<model::GroupedQueryConfig>(config_.attention);
  const int group = attention.heads / attention.kv_heads;
  const std::size_t D = size(attention.head_size);
  const std::uint32_t block = 0;
  const int length = static_cast<int>(position_) + 1;
  const int window = window_of(attention, layer);
  Vector out(queries.size());
  for (int head = 0; head < attention.kv_heads; ++head) {
    const std::size_t plane = size(layer * attention.kv_heads + head) * positions_ * D;
    const std::size_t first = size(head * group) * D;
    const numerics::QueryGroup queries_of_head{
        .q = &queries[first],
        .heads = group,
        .scale = config_.attention_scale,
        .score_cap = attention.score_cap,
        .sinks = w.sinks.empty() ? nullptr : &w.sinks[size(head * group)]};
    const numerics::PagedKV kv{.keys = &keys_[plane],
                               .values = &values_[plane],
                               .block_stride = 0,
                               .block_size = static_cast<int>(positions_),
                               .head_size = attention.head_size,
                               .blocks = {&block, 1},
                               .length = length,
                               .first = window > 0 ? std::max(0, length - window) : 0,
                               .type = kv_type_};
    span_attention_reference(step_, queries_of_head, kv, &out[first]);
  }
  return out;
}

std::vector<float> FastReference::gated(const model::StoredMlp& w, const Rows& x) const {
  const Vector gate = product(w.gate, x, w.gate_bias);
  const Vector up = product(w.up, x, w.up_bias);
  Vector out(gate.size());
  const auto F = static_cast<int>(out.size());
  switch (config_.activation) {
    case model::Activation::silu:
      numerics::silu_multiply(gate.data(), up.data(), F, out.data());
      break;
    case model::Activation::gelu_tanh:
      numerics::gelu_tanh_multiply(gate.data(), up.data(), F, out.data());
      break;
    case model::Activation::clamped_swiglu:
      numerics::clamped_swiglu(gate.data(), up.data(),
                               {.alpha = config_.swiglu_alpha, .limit = config_.swiglu_limit}, F,
                               out.data());
  }
  return out;
}

std::vector<float> FastReference::made_by(const model::StoredMlp& w, const Rows& x) const {
  return product(w.down, {gated(w, x)}, w.down_bias);
}

std::vector<float> FastReference::made_by(const model::StoredExperts& w, const Rows& x) const {
  const model::ExpertsConfig& config = *config_.experts;
  Vector products = routed(w.router, x, w.router_bias);
  Vector scratch(size(model::router_scratch_size(config)));
  std::vector<model::ExpertChoice> chosen(size(config.experts_per_token));
  model::choose_experts(config, products, w.correction_bias, scratch, chosen);
  Vector sum(size(config_.hidden_size));
  for (const auto& [expert, weight] : chosen) {
    const Vector made = made_by(w.experts[size(expert)], x);
    numerics::add_scaled(sum.data(), made.data(), weight, config_.hidden_size);
  }
  if (!w.shared) return sum;
  const float gate = w.shared_gate ? sigmoid(routed(*w.shared_gate, x, {}).front()) : 1;
  const Vector made = made_by(*w.shared, x);
  numerics::add_scaled(sum.data(), made.data(), gate, config_.hidden_size);
  return sum;
}

void FastReference::add(Vector& hidden, Vector added, const Vector* post_norm) const {
  if (post_norm != nullptr) added = normed(std::move(added), *post_norm, config_.norm_eps);
  numerics::add_scaled(hidden.data(), added.data(), config_.residual_multiplier,
                       config_.hidden_size);
}

}  // namespace forge::testing
