// The same Transformer once more, written from the papers with Eigen's own products and
// the standard library, in double, over the whole context and without a cache.
#include <gtest/gtest.h>

#include <cmath>

#include "forge/reference/weights.h"
#include "reference/model_runner.h"

namespace forge::reference {
namespace {

using testing::blocks_from;
using testing::ModelRunner;
using testing::some_tokens;

using Wide = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Wide wide(const Matrix& m) { return m.cast<double>(); }

Wide rms_norm(const Wide& x, const Vector& weight, double eps) {
  Wide y = x;
  for (Eigen::Index t = 0; t < x.rows(); ++t) {
    const double scale =
        1 / std::sqrt(x.row(t).squaredNorm() / static_cast<double>(x.cols()) + eps);
    y.row(t) = scale * x.row(t).cwiseProduct(weight.cast<double>().transpose());
  }
  return y;
}

/// Rotates each pair (i, i + D/2) of each head by position * base^(-2i/D).
void rotate(const TinyConfig& c, Wide& heads) {
  const int half = c.head_size / 2;
  for (Eigen::Index t = 0; t < heads.rows(); ++t) {
    for (Eigen::Index first = 0; first < heads.cols(); first += c.head_size) {
      for (int i = 0; i < half; ++i) {
        const double angle = static_cast<double>(t) * std::pow(c.rope_base, -2.0 * i / c.head_size);
        const double a = heads(t, first + i), b = heads(t, first + half + i);
        heads(t, first + i) = a * std::cos(angle) - b * std::sin(angle);
        heads(t, first + half + i) = b * std::cos(angle) + a * std::sin(angle);
      }
    }
  }
}

Wide attention(const TinyConfig& c, const LayerWeights& w, const Wide& x) {
  Wide q = x * wide(w.query).transpose();
  Wide k = x * wide(w.key).transpose();
  const Wide v = x * wide(w.value).transpose();
  rotate(c, q);
  rotate(c, k);
  Wide out(x.rows(), c.query_size());
  for (int head = 0; head < c.heads; ++head) {
    const Eigen::Index kv = head / c.group_size() * c.head_size;
    Wide scores = q.middleCols(head * c.head_size, c.head_size) *
                  k.middleCols(kv, c.head_size).transpose() / std::sqrt(c.head_size);
    for (Eigen::Index t = 0; t < scores.rows(); ++t) {
      Eigen::RowVectorXd p = (scores.row(t).array() - scores.row(t).head(t + 1).maxCoeff()).exp();
      p.tail(scores.cols() - t - 1).setZero();
      scores.row(t) = p / p.sum();
    }
    out.middleCols(head * c.head_size, c.head_size) = scores * v.middleCols(kv, c.head_size);
  }
  return out * wide(w.output).transpose();
}

Wide swiglu(const LayerWeights& w, const Wide& x) {
  const Wide gate = x * wide(w.gate).transpose();
  const Wide up = x * wide(w.up).transpose();
  const Wide gated = gate.array() / (1 + (-gate.array()).exp()) * up.array();
  return gated * wide(w.down).transpose();
}

/// [T][V]
Wide oracle(const TinyConfig& c, const Weights& w, const std::vector<TokenId>& tokens) {
  Wide x(static_cast<Eigen::Index>(tokens.size()), c.hidden_size);
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    x.row(static_cast<Eigen::Index>(t)) = w.embedding.row(tokens[t].value).cast<double>();
  }
  for (const LayerWeights& layer : w.layers) {
    x += attention(c, layer, rms_norm(x, layer.attention_norm, c.norm_eps));
    x += swiglu(layer, rms_norm(x, layer.ffn_norm, c.norm_eps));
  }
  return rms_norm(x, w.final_norm, c.norm_eps) * wide(w.embedding).transpose();
}

/// Rounding errors of float along the longest path through the model: each of its chains of
/// n operations is off by at most n * 2^-24 of the magnitude of what it adds up.
double tolerance(const TinyConfig& c, std::size_t context) {
  const int layer = c.hidden_size + c.head_size + static_cast<int>(context) + c.query_size() +
                    c.hidden_size + c.ffn_size;
  return 0x1p-24 * (c.layers * layer + c.hidden_size);
}

void expect_agreement(const TinyConfig& config, std::size_t count) {
  const TinyTransformer model(config);
  const auto tokens = some_tokens(count, 11, config.vocabulary_size);
  const auto rows_count = static_cast<std::uint32_t>(count);
  ModelRunner runner(model, rows_count, 1);
  runner.add(tokens, blocks_from(0, rows_count));
  const auto rows = runner.run({{0, 0, rows_count}});
  const Wide expected = oracle(config, seeded_weights(config), tokens);
  const double bound = tolerance(config, count) * expected.cwiseAbs().maxCoeff();
  double worst = 0;
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t v = 0; v < rows[t].size(); ++v) {
      const double exact = expected(static_cast<Eigen::Index>(t), static_cast<Eigen::Index>(v));
      worst = std::max(worst, std::abs(static_cast<double>(rows[t][v]) - exact));
    }
  }
  EXPECT_LT(worst, bound);
  ::testing::Test::RecordProperty("worst_over_bound", std::to_string(worst / bound));
}

TEST(TransformerOracle, the_default_model_agrees_with_an_independent_one) {
  expect_agreement({}, 60);
}

TEST(TransformerOracle, an_odd_shape_agrees_with_an_independent_one) {
  expect_agreement({.vocabulary_size = 37,
                    .hidden_size = 50,
                    .layers = 3,
                    .heads = 6,
                    .kv_heads = 2,
                    .head_size = 10,
                    .ffn_size = 70,
                    .rope_base = 500},
                   25);
}

TEST(TransformerOracle, a_context_of_several_softmax_chunks_agrees) { expect_agreement({}, 600); }

}  // namespace
}  // namespace forge::reference
