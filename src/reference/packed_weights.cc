#include "forge/reference/packed_weights.h"

#include "forge/core/check.h"
#include "forge/numerics/canonical.h"

namespace forge::reference {
namespace {

numerics::PackedMatrix packed(const Matrix& m) {
  return {m.data(), static_cast<int>(m.rows()), static_cast<int>(m.cols())};
}

/// The matrices on top of one another: rows of products side by side.
template <class... Matrices>
Matrix stacked(const Matrix& first, const Matrices&... rest) {
  Matrix all((first.rows() + ... + rest.rows()), first.cols());
  Eigen::Index row = 0;
  const auto place = [&](const Matrix& m) {
    all.middleRows(row, m.rows()) = m;
    row += m.rows();
  };
  place(first);
  (place(rest), ...);
  return all;
}

}  // namespace

PackedWeights packed(const TinyConfig& config, const Weights& weights) {
  const auto valid = validate(config);
  FORGE_CHECK(valid.has_value(), to_string(valid.error()));
  FORGE_CHECK(static_cast<int>(weights.layers.size()) == config.layers,
              "layers=", weights.layers.size(), " config=", config.layers);
  PackedWeights out{.embedding = weights.embedding,
                    .layers = {},
                    .final_norm = weights.final_norm,
                    .head = packed(weights.embedding)};
  for (const LayerWeights& w : weights.layers) {
    out.layers.push_back({w.attention_norm, packed(stacked(w.query, w.key, w.value)),
                          packed(w.output), w.ffn_norm, packed(stacked(w.gate, w.up)),
                          packed(w.down)});
  }
  return out;
}

float attention_scale(const TinyConfig& config) {
  return numerics::rsqrt(static_cast<float>(config.head_size));
}

}  // namespace forge::reference
