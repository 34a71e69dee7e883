#include "forge/reference/tiny_transformer.h"

#include <cmath>
#include <complex>
#include <utility>

#include "forge/core/check.h"

namespace forge::reference {

TinyTransformer::TinyTransformer(const TinyConfig& config, Weights weights)
    : config_(config), weights_(std::move(weights)) {
  const auto valid = validate(config_);
  FORGE_CHECK(valid.has_value(), to_string(valid.error()));
  FORGE_CHECK(static_cast<int>(weights_.layers.size()) == config_.layers,
              "layers=", weights_.layers.size(), " config=", config_.layers);
}

TinyTransformer::TinyTransformer(const TinyConfig& config)
    : TinyTransformer(config, seeded_weights(config)) {}

Rows TinyTransformer::logits(std::span<const TokenId> tokens) const {
  return logits(tokens, config_.layers);
}

Rows TinyTransformer::logits(std::span<const TokenId> tokens, int layers) const {
  FORGE_CHECK(layers >= 1 && layers <= config_.layers, "layers=", layers, " model has ",
              config_.layers);
  Rows x = embed(tokens);
  for (int i = 0; i < layers; ++i) x = layer(weights_.layers[static_cast<std::size_t>(i)], x);
  return head(x);
}

Rows TinyTransformer::embed(std::span<const TokenId> tokens) const {
  Rows x(static_cast<Eigen::Index>(tokens.size()), config_.hidden_size);
  for (Eigen::Index t = 0; t < x.rows(); ++t) {
    const std::uint32_t token = tokens[static_cast<std::size_t>(t)].value;
    FORGE_CHECK(token < static_cast<std::uint32_t>(config_.vocabulary_size), "token=", token,
                " vocabulary=", config_.vocabulary_size);
    x.row(t) = weights_.embedding.row(token).cast<double>();
  }
  return x;
}

Rows TinyTransformer::layer(const LayerWeights& w, const Rows& x) const {
  const Rows y = x + attention(w, norm(x, w.attention_norm));
  return y + mlp(w, norm(y, w.mlp_norm));
}

Rows TinyTransformer::norm(const Rows& x, const Vector& weight) const {
  const double eps = static_cast<double>(config_.norm_eps);
  const Eigen::ArrayXd mean_square = x.array().square().rowwise().mean();
  const Eigen::ArrayXd root = (mean_square + eps).sqrt();
  return root.inverse().matrix().asDiagonal() * x * weight.cast<double>().asDiagonal();
}

Rows TinyTransformer::attention(const LayerWeights& w, const Rows& x) const {
  const int D = config_.head_size;
  const Rows q = rotate(product(x, w.query));
  const Rows k = rotate(product(x, w.key));
  const Rows v = product(x, w.value);
  Rows attended(q.rows(), q.cols());
  for (int head = 0; head < config_.heads; ++head) {
    const int kv_head = head / config_.group_size();
    const Rows shares = attention_weights(q.middleCols(head * D, D), k.middleCols(kv_head * D, D));
    attended.middleCols(head * D, D) = shares * v.middleCols(kv_head * D, D);
  }
  return product(attended, w.output);
}

Rows TinyTransformer::rotate(Rows heads) const {
  const int D = config_.head_size;
  for (int i = 0; i < D / 2; ++i) {
    const double frequency = std::pow(config_.rope_base, -2.0 * i / D);
    for (Eigen::Index t = 0; t < heads.rows(); ++t) {
      const auto turn = std::polar(1.0, static_cast<double>(t) * frequency);
      for (Eigen::Index first = i; first < heads.cols(); first += D) {
        const auto turned = std::complex(heads(t, first), heads(t, first + D / 2)) * turn;
        heads(t, first) = turned.real();
        heads(t, first + D / 2) = turned.imag();
      }
    }
  }
  return heads;
}

Rows TinyTransformer::attention_weights(const Rows& q, const Rows& k) const {
  Rows shares = q * k.transpose() / std::sqrt(config_.head_size);
  for (Eigen::Index t = 0; t < shares.rows(); ++t) {
    auto seen = shares.row(t).head(t + 1);
    seen = (seen.array() - seen.maxCoeff()).exp().matrix().eval();
    seen /= seen.sum();
    shares.row(t).tail(shares.cols() - t - 1).setZero();
  }
  return shares;
}

Rows TinyTransformer::mlp(const LayerWeights& w, const Rows& x) const {
  return product(silu(product(x, w.gate)).cwiseProduct(product(x, w.up)), w.down);
}

Rows TinyTransformer::silu(const Rows& x) const { return x.array() / (1 + (-x.array()).exp()); }

Rows TinyTransformer::head(const Rows& x) const {
  return product(norm(x, weights_.final_norm), weights_.embedding);
}

Rows product(const Rows& x, const Matrix& w) { return x * w.cast<double>().transpose(); }

}  // namespace forge::reference
