#include "forge/reference/rounding_analysis.h"

#include <cmath>
#include <utility>
#include <vector>

#include "forge/core/check.h"
#include "rounded_layer.h"

namespace forge::reference {
namespace {

/// Derivatives of one sum of logits, taken backwards through the pass, over the first `rows_`
/// positions; and the sum of |derivative| * error over all that it meets.
class Backwards {
 public:
  Backwards(const TinyTransformer& model, Eigen::Index rows) : model_(model), rows_(rows) {}

  double error() const { return error_; }

  /// `derivative` is that by each element of `at`.
  void meet(const Rounded& at, const Rows& derivative) {
    error_ += derivative.cwiseAbs().cwiseProduct(at.error.topRows(rows_)).sum();
  }

  /// Each of these takes the derivative by its result and returns that by what it read.
  Rows product(const Rows& by, const Matrix& w) const { return by * w.cast<double>(); }
  Rows norm(const Rows& by, const Rows& x, const Rows& y, const Vector& weight);
  Rows rotation(const Rows& by) const;
  Rows mlp(const RoundedLayer& layer, const LayerWeights& w, const Rows& by);
  Rows attention(const RoundedLayer& layer, const LayerWeights& w, const Rows& by);
  Rows layer(const RoundedLayer& layer, const LayerWeights& w, const Rows& by);

 private:
  struct ByHead {
    Rows query, key, value;
  };
  ByHead head(const RoundedLayer& layer, int head, const Rows& by);

  const TinyConfig& config() const { return model_.config(); }

  const TinyTransformer& model_;
  Eigen::Index rows_;
  double error_ = 0;
};

/// y = x r weight with r = 1 / sqrt(mean square + eps), so
/// d/dx = r (by weight - (x r) (by . y) / d).
Rows Backwards::norm(const Rows& by, const Rows& x, const Rows& y, const Vector& weight) {
  const auto X = x.topRows(rows_);
  const auto Y = y.topRows(rows_);
  const auto w = weight.cast<double>();
  const Eigen::ArrayXd along = by.cwiseProduct(Y).rowwise().sum();
  const Eigen::RowVectorXd roundings =
      (weight.array() != 1.0F).select(Eigen::VectorXd::Constant(w.size(), 2 * kUnit), kUnit);
  error_ += norm_factor_error(config().hidden_size) * along.abs().sum() +
            (by.cwiseProduct(Y).cwiseAbs() * roundings.asDiagonal()).sum();

  const double eps = static_cast<double>(config().norm_eps);
  const Eigen::ArrayXd r = (X.array().square().rowwise().mean() + eps).sqrt().inverse();
  const Eigen::ArrayXd back = r * along / static_cast<double>(x.cols());
  return r.matrix().asDiagonal() * (by * w.asDiagonal() - back.matrix().asDiagonal() * X).eval();
}

/// The derivative of a rotation is the rotation back, which is the rotation of mirrored pairs.
Rows Backwards::rotation(const Rows& by) const {
  const int D = config().head_size;
  const auto mirrored = [&](Rows heads) {
    for (Eigen::Index first = 0; first < heads.cols(); first += D) {
      heads.middleCols(first + D / 2, D / 2) *= -1;
    }
    return heads;
  };
  return mirrored(model_.rotate(mirrored(by)));
}

Rows Backwards::mlp(const RoundedLayer& layer, const LayerWeights& w, const Rows& by) {
  const Rows by_gated = product(by, w.down);
  meet(layer.gated, by_gated);
  const auto gate = layer.gate.value.topRows(rows_).array();
  const auto up = layer.up.value.topRows(rows_).array();
  const Rows logistic = 1 / (1 + (-gate).exp());
  const Rows by_up = by_gated.array() * gate * logistic.array();
  const Rows slope = logistic.array() * (1 + gate * (1 - logistic.array()));  // of silu
  const Rows by_gate = by_gated.array() * up * slope.array();
  meet(layer.up, by_up);
  meet(layer.gate, by_gate);
  return product(by_up, w.up) + product(by_gate, w.gate);
}

/// out = P v with P = softmax(s), s = q k^T / sqrt(D). By a score: P (by v^T - by . out), since
/// what one key gains all lose.
Backwards::ByHead Backwards::head(const RoundedLayer& layer, int head, const Rows& by) {
  const int D = config().head_size;
  const int kv = head / config().group_size() * D;
  const auto of = [&](const Rounded& heads, int first) {
    return heads.value.block(0, first, rows_, D);
  };
  const RoundedAttention& attention = layer.heads[static_cast<std::size_t>(head)];
  const auto shares = attention.weights.topLeftCorner(rows_, rows_);
  const Eigen::ArrayXd along = by.cwiseProduct(of(layer.attended, head * D)).rowwise().sum();
  error_ += (along.abs() * attention.sum_error.head(rows_)).sum();

  const Rows by_shares = by * of(layer.value, kv).transpose();
  const Rows by_scores = shares.array() * (by_shares.array().colwise() - along);
  const auto score_error = attention.score_error.topLeftCorner(rows_, rows_);
  error_ += by_scores.cwiseAbs().cwiseProduct(score_error).sum();
  const double scale = 1 / std::sqrt(D);
  return {scale * by_scores * of(layer.turned_key, kv),
          scale * by_scores.transpose() * of(layer.turned_query, head * D),
          shares.transpose() * by};
}

Rows Backwards::attention(const RoundedLayer& layer, const LayerWeights& w, const Rows& by) {
  const int D = config().head_size;
  const Rows by_attended = product(by, w.output);
  meet(layer.attended, by_attended);
  Rows query = Rows::Zero(rows_, config().query_size());
  Rows key = Rows::Zero(rows_, config().kv_size());
  Rows value = Rows::Zero(rows_, config().kv_size());
  for (int i = 0; i < config().heads; ++i) {
    const ByHead by_head = head(layer, i, by_attended.middleCols(i * D, D));
    const int kv = i / config().group_size() * D;
    query.middleCols(i * D, D) = by_head.query;
    key.middleCols(kv, D) += by_head.key;
    value.middleCols(kv, D) += by_head.value;
  }
  meet(layer.value, value);
  meet(layer.turned_query, query);
  meet(layer.turned_key, key);
  query = rotation(query);
  key = rotation(key);
  meet(layer.query, query);
  meet(layer.key, key);
  return product(query, w.query) + product(key, w.key) + product(value, w.value);
}

Rows Backwards::layer(const RoundedLayer& layer, const LayerWeights& w, const Rows& by) {
  meet(layer.output, by);
  const Rows by_middle =
      by + norm(mlp(layer, w, by), layer.middle.value, layer.mlp_input, w.mlp_norm);
  meet(layer.middle, by_middle);
  return by_middle +
         norm(attention(layer, w, by_middle), layer.x, layer.attention_input, w.attention_norm);
}

}  // namespace

struct RoundedPass {
  std::vector<RoundedLayer> layers;
  Rows head_input;  // [T][d] normed
  Rounded logits;   // [T][V]
};

RoundingAnalysis::RoundingAnalysis(const TinyTransformer& model, std::span<const TokenId> tokens)
    : model_(model) {
  const Weights& weights = model.weights();
  auto pass = std::make_unique<RoundedPass>();
  Rows x = model.embed(tokens);
  for (const LayerWeights& w : weights.layers) {
    pass->layers.push_back(rounded_layer(model, w, x));
    x = pass->layers.back().output.value;
  }
  pass->head_input = model.norm(x, weights.final_norm);
  pass->logits = rounded_product(pass->head_input, weights.embedding);
  pass_ = std::move(pass);
}

RoundingAnalysis::~RoundingAnalysis() = default;

const Rows& RoundingAnalysis::logits() const { return pass_->logits.value; }

RoundingAnalysis::Sensitivity RoundingAnalysis::sensitivity(
    Eigen::Index row, const Eigen::RowVectorXd& factors) const {
  FORGE_CHECK(row >= 0 && row < logits().rows(), "row=", row, " rows=", logits().rows());
  const Weights& weights = model_.weights();
  Backwards backwards(model_, row + 1);
  Rows by_logits = Rows::Zero(row + 1, factors.size());
  by_logits.row(row) = factors;
  backwards.meet(pass_->logits, by_logits);
  Rows by =
      backwards.norm(backwards.product(by_logits, weights.embedding),
                     pass_->layers.back().output.value, pass_->head_input, weights.final_norm);
  for (std::size_t i = pass_->layers.size(); i-- > 0;) {
    by = backwards.layer(pass_->layers[i], weights.layers[i], by);
  }
  return {backwards.error(), std::move(by)};
}

double RoundingAnalysis::logit_error(Eigen::Index row, Eigen::Index token) const {
  Eigen::RowVectorXd factors = Eigen::RowVectorXd::Zero(logits().cols());
  factors(token) = 1;
  return sensitivity(row, factors).error;
}

double RoundingAnalysis::margin_error(Eigen::Index row, Eigen::Index token,
                                      Eigen::Index other) const {
  Eigen::RowVectorXd factors = Eigen::RowVectorXd::Zero(logits().cols());
  factors(token) = 1;
  factors(other) -= 1;
  return sensitivity(row, factors).error;
}

}  // namespace forge::reference
