#include "rounded_layer.h"

#include <utility>

namespace forge::reference {
namespace {

/// x + what a product adds, rounded once more.
Rounded residual_sum(const Rows& x, const Rounded& added) {
  Rounded sum{x + added.value, added.error};
  sum.error += kUnit * sum.value.cwiseAbs();
  return sum;
}

void attend(const TinyTransformer& model, RoundedLayer& layer) {
  const TinyConfig& c = model.config();
  const int D = c.head_size;
  const Rows& q = layer.turned_query.value;
  layer.attended = {Rows(q.rows(), q.cols()), Rows(q.rows(), q.cols())};
  for (int head = 0; head < c.heads; ++head) {
    const int kv = head / c.group_size() * D;
    auto [attention, out] = rounded_attention(model, q.middleCols(head * D, D),
                                              layer.turned_key.value.middleCols(kv, D),
                                              layer.value.value.middleCols(kv, D));
    layer.heads.push_back(std::move(attention));
    layer.attended.value.middleCols(head * D, D) = out.value;
    layer.attended.error.middleCols(head * D, D) = out.error;
  }
}

Rounded rotated(const TinyTransformer& model, const Rounded& heads) {
  Rows turned = model.rotate(heads.value);
  Rows error = rotation_errors(model.config(), heads.value, turned);
  return {std::move(turned), std::move(error)};
}

}  // namespace

RoundedLayer rounded_layer(const TinyTransformer& model, const LayerWeights& w, const Rows& x) {
  RoundedLayer layer;
  layer.x = x;
  layer.attention_input = model.norm(x, w.attention_norm);
  layer.query = rounded_product(layer.attention_input, w.query);
  layer.key = rounded_product(layer.attention_input, w.key);
  layer.value = rounded_product(layer.attention_input, w.value);
  layer.turned_query = rotated(model, layer.query);
  layer.turned_key = rotated(model, layer.key);
  attend(model, layer);
  layer.middle = residual_sum(x, rounded_product(layer.attended.value, w.output));

  layer.mlp_input = model.norm(layer.middle.value, w.mlp_norm);
  layer.gate = rounded_product(layer.mlp_input, w.gate);
  layer.up = rounded_product(layer.mlp_input, w.up);
  layer.gated.value = model.silu(layer.gate.value).cwiseProduct(layer.up.value);
  layer.gated.error = 6 * kUnit * layer.gated.value.cwiseAbs();
  layer.output = residual_sum(layer.middle.value, rounded_product(layer.gated.value, w.down));
  return layer;
}

}  // namespace forge::reference
