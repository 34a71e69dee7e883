// The bound of rounding_analysis.h is worth something if what is not rounding exceeds it: mistakes
// that people make in a Transformer, each planted into one step of TinyTransformer, which then has
// to be too far from the engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "forge/reference/rounding_analysis.h"
#include "forge/reference/seeded_model.h"
#include "model/transformer_runner.h"
#include "reference/other_norms.h"

namespace forge::reference {
namespace {

constexpr TinyConfig kConfig{.layers = 3};

struct Mistake {
  std::string name;
  std::function<std::unique_ptr<TinyTransformer>(const TinyConfig&, const Weights&)> plant;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

// ---- Mistakes in a step -----------------------------------------------------------

/// Attention weights of scores * `scale`, each query seeing `seen(t)` keys from `first` on, as
/// powers of `base`.
struct Softmax {
  double scale;
  std::function<Eigen::Index(Eigen::Index)> seen = [](Eigen::Index t) { return t + 1; };
  Eigen::Index first = 0;
  double base = std::exp(1.0);

  Rows operator()(const Rows& q, const Rows& k) const {
    const Rows scores = scale * q * k.transpose();
    Rows weights = Rows::Zero(scores.rows(), scores.cols());
    for (Eigen::Index t = 0; t < scores.rows(); ++t) {
      const Eigen::Index begin = std::min(first, t);
      const Eigen::Index end = std::clamp<Eigen::Index>(seen(t), begin + 1, scores.cols());
      const auto row = scores.row(t).segment(begin, end - begin);
      const Eigen::RowVectorXd p = ((row.array() - row.maxCoeff()) * std::log(base)).exp();
      weights.row(t).segment(begin, end - begin) = p / p.sum();
    }
    return weights;
  }
};

class WrongSoftmax : public TinyTransformer {
 public:
  WrongSoftmax(const TinyConfig& config, const Weights& weights, Softmax softmax)
      : TinyTransformer(config, weights), softmax_(std::move(softmax)) {}
  Rows attention_weights(const Rows& q, const Rows& k) const override { return softmax_(q, k); }

 private:
  Softmax softmax_;
};

Mistake wrong_softmax(std::string name, Softmax softmax) {
  return {std::move(name), [softmax](const TinyConfig& config, const Weights& weights) {
            return std::make_unique<WrongSoftmax>(config, weights, softmax);
          }};
}

/// Turns pair (first, second) of n by angle(position), in heads of either kind.
struct Rotation {
  std::function<double(double position, double pair, double size)> angle =
      [](double position, double pair, double size) {
        return position * std::pow(kConfig.rope_base, -2 * pair / size);
      };
  bool adjacent = false;
  bool queries = true;  ///< have it
  bool keys = true;
};

class WrongRotation : public TinyTransformer {
 public:
  WrongRotation(const TinyConfig& config, const Weights& weights, Rotation rotation)
      : TinyTransformer(config, weights), rotation_(std::move(rotation)) {}

  Rows rotate(Rows heads) const override {
    const bool is_query = heads.cols() == config().query_size();
    if (!(is_query ? rotation_.queries : rotation_.keys)) return TinyTransformer::rotate(heads);
    const int D = config().head_size;
    for (Eigen::Index t = 0; t < heads.rows(); ++t) {
      for (Eigen::Index first = 0; first < heads.cols(); first += D) {
        for (int i = 0; i < D / 2; ++i) {
          const Eigen::Index a = first + (rotation_.adjacent ? 2 * i : i);
          const Eigen::Index b = rotation_.adjacent ? a + 1 : a + D / 2;
          const double angle = rotation_.angle(static_cast<double>(t), i, D);
          const double x = heads(t, a), y = heads(t, b);
          heads(t, a) = x * std::cos(angle) - y * std::sin(angle);
          heads(t, b) = y * std::cos(angle) + x * std::sin(angle);
        }
      }
    }
    return heads;
  }

 private:
  Rotation rotation_;
};

Mistake wrong_rotation(std::string name, Rotation rotation) {
  return {std::move(name), [rotation](const TinyConfig& config, const Weights& weights) {
            return std::make_unique<WrongRotation>(config, weights, rotation);
          }};
}

double power(double pair, double size) { return std::pow(kConfig.rope_base, -2 * pair / size); }

class NormSubtractsTheMean : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows norm(const Rows& x, const Vector& weight) const override {
    return TinyTransformer::norm(x.colwise() - x.rowwise().mean(), weight);
  }
};

class NormHasEpsilonOutsideOfTheRoot : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows norm(const Rows& x, const Vector& weight) const override {
    const Eigen::ArrayXd root =
        x.array().square().rowwise().mean().sqrt() + static_cast<double>(config().norm_eps);
    return root.inverse().matrix().asDiagonal() * x * weight.cast<double>().asDiagonal();
  }
};

class NormCountsOneLess : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows norm(const Rows& x, const Vector& weight) const override {
    const double d = config().hidden_size;
    return TinyTransformer::norm(x, weight) * std::sqrt((d - 1) / d);
  }
};

class AttentionReplacesItsInput : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows layer(const LayerWeights& w, const Rows& x) const override {
    const Rows y = attention(w, norm(x, w.attention_norm));
    return y + mlp(w, norm(y, w.mlp_norm));
  }
};

class MlpReplacesItsInput : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows layer(const LayerWeights& w, const Rows& x) const override {
    const Rows y = x + attention(w, norm(x, w.attention_norm));
    return mlp(w, norm(y, w.mlp_norm));
  }
};

class MlpReadsBesideAttention : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows layer(const LayerWeights& w, const Rows& x) const override {
    return x + attention(w, norm(x, w.attention_norm)) + mlp(w, norm(x, w.mlp_norm));
  }
};

class NormsComeAfter : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows layer(const LayerWeights& w, const Rows& x) const override {
    const Rows y = x + norm(attention(w, x), w.attention_norm);
    return y + norm(mlp(w, y), w.mlp_norm);
  }
};

class MlpReadsWithoutNorm : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows layer(const LayerWeights& w, const Rows& x) const override {
    const Rows y = x + attention(w, norm(x, w.attention_norm));
    return y + mlp(w, y);
  }
};

class HeadWithoutNorm : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows head(const Rows& x) const override { return product(x, weights().embedding); }
};

class GeluForSilu : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows silu(const Rows& x) const override {
    return x.unaryExpr([](double v) { return v * std::erfc(-v / std::sqrt(2)) / 2; });
  }
};

class LogisticForSilu : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows silu(const Rows& x) const override { return 1 / (1 + (-x.array()).exp()); }
};

class EmbeddingIsScaled : public TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;
  Rows embed(std::span<const TokenId> tokens) const override {
    return TinyTransformer::embed(tokens) * std::sqrt(config().hidden_size);
  }
};

template <class Wrong>
Mistake wrong_step(std::string name) {
  return {std::move(name), [](const TinyConfig& config, const Weights& weights) {
            return std::make_unique<Wrong>(config, weights);
          }};
}

// ---- Mistakes in what a step is given -----------------------------------------------

Mistake wrong_config(std::string name, std::function<void(TinyConfig&)> change) {
  return {std::move(name), [change](TinyConfig config, const Weights& weights) {
            change(config);
            return std::make_unique<TinyTransformer>(config, weights);
          }};
}

Mistake wrong_weights(std::string name, std::function<void(LayerWeights&)> change) {
  return {std::move(name), [change](const TinyConfig& config, Weights weights) {
            for (LayerWeights& layer : weights.layers) change(layer);
            return std::make_unique<TinyTransformer>(config, weights);
          }};
}

/// Query head h reads KV head h % Hkv, not h / (H / Hkv): the heads in between change places.
void interleave_groups(LayerWeights& w) {
  const auto swap_heads = [](auto one, auto other) {
    const Matrix kept = one;
    one = other;
    other = kept;
  };
  const int D = kConfig.head_size;
  swap_heads(w.query.middleRows(D, D), w.query.middleRows(2 * D, D));
  swap_heads(w.output.middleCols(D, D), w.output.middleCols(2 * D, D));
}

Mistake a_layer_too_few() {
  return {"a layer too few", [](TinyConfig config, Weights weights) {
            config.layers -= 1;
            weights.layers.pop_back();
            return std::make_unique<TinyTransformer>(config, weights);
          }};
}

Mistake final_norm_of_ones() {
  return {"the final norm's weights are left out", [](const TinyConfig& config, Weights weights) {
            weights.final_norm.setOnes();
            return std::make_unique<TinyTransformer>(config, weights);
          }};
}

std::vector<Mistake> mistakes() {
  const double D = kConfig.head_size;
  const double scale = 1 / std::sqrt(D);
  return {
      wrong_softmax("scores are divided by D", {.scale = 1 / D}),
      wrong_softmax("scores are not scaled", {.scale = 1}),
      wrong_softmax("scores are scaled by the hidden size",
                    {.scale = 1 / std::sqrt(kConfig.hidden_size)}),
      wrong_softmax("the mask is a key too far",
                    {.scale = scale, .seen = [](Eigen::Index t) { return t + 2; }}),
      wrong_softmax("the mask is a key too short",
                    {.scale = scale, .seen = [](Eigen::Index t) { return t; }}),
      wrong_softmax("there is no mask", {.scale = scale, .seen = [](Eigen::Index) { return 99; }}),
      wrong_softmax("the first key is not seen", {.scale = scale, .first = 1}),
      wrong_softmax("exponentials are powers of two", {.scale = scale, .base = 2}),
      wrong_rotation("pairs are adjacent", {.adjacent = true}),
      wrong_rotation("rotation is the other way round",
                     {.angle = [](double t, double i, double n) { return -t * power(i, n); }}),
      wrong_rotation("queries turn by one position more",
                     {.angle = [](double t, double i, double n) { return (t + 1) * power(i, n); },
                      .keys = false}),
      wrong_rotation("keys do not turn",
                     {.angle = [](double, double, double) { return 0.0; }, .queries = false}),
      wrong_rotation("nothing turns", {.angle = [](double, double, double) { return 0.0; }}),
      wrong_rotation("frequencies are base^(-i/D)",
                     {.angle = [](double t, double i, double n) { return t * power(i / 2, n); }}),
      wrong_config("another base of the rotation", [](auto& c) { c.rope_base = 10100; }),
      wrong_config("another epsilon", [](auto& c) { c.norm_eps = 1e-6F; }),
      wrong_step<NormSubtractsTheMean>("norms subtract the mean"),
      wrong_step<NormHasEpsilonOutsideOfTheRoot>("epsilon is outside of the root"),
      wrong_step<NormCountsOneLess>("the mean square is over d - 1"),
      final_norm_of_ones(),
      wrong_step<AttentionReplacesItsInput>("attention has no residual"),
      wrong_step<MlpReplacesItsInput>("the MLP has no residual"),
      wrong_step<MlpReadsBesideAttention>("the MLP does not read what attention added"),
      wrong_step<NormsComeAfter>("norms come after the sub-layers"),
      wrong_step<MlpReadsWithoutNorm>("the MLP reads without a norm"),
      wrong_step<HeadWithoutNorm>("the head reads without a norm"),
      wrong_step<GeluForSilu>("GELU for SiLU"),
      wrong_step<LogisticForSilu>("the logistic function for SiLU"),
      wrong_step<EmbeddingIsScaled>("embeddings are scaled by sqrt(d)"),
      wrong_weights("gate and up change places", [](auto& w) { w.gate.swap(w.up); }),
      wrong_weights("keys and values change places", [](auto& w) { w.key.swap(w.value); }),
      wrong_weights("norms change places", [](auto& w) { w.attention_norm.swap(w.mlp_norm); }),
      wrong_weights("queries are transposed", [](auto& w) { w.query.transposeInPlace(); }),
      wrong_weights("groups of heads are interleaved", interleave_groups),
      a_layer_too_few(),
  };
}

/// The engine on a text, and how far from it the right model may be.
class PlantedMistake : public ::testing::TestWithParam<Mistake> {
 protected:
  static constexpr Eigen::Index kStep = 16;  // logits of every 16th token: each bound is two passes

  struct Engine {
    Weights weights = testing::with_other_norms(seeded_weights(kConfig));
    std::vector<TokenId> tokens = testing::some_tokens(20, 1);
    Eigen::RowVectorXd logits;  // of the last token
    Eigen::RowVectorXd error;   // likewise
    double spread = 0;          // of all its logits
  };

  static const Engine& engine() {
    static const Engine kEngine = [] {
      Engine engine;
      linear::ThreadPool threads(1);
      const auto transformer = transformer_of(kConfig, engine.weights, threads);
      const testing::Logits last = testing::logits_alone(transformer, engine.tokens).back();
      const auto [least, most] = std::ranges::minmax(last);
      engine.spread = static_cast<double>(most - least);
      engine.logits.resize(kConfig.vocabulary_size / kStep);
      engine.error.resize(engine.logits.size());
      const TinyTransformer right(kConfig, engine.weights);
      const RoundingAnalysis analysis(right, engine.tokens);
      for (Eigen::Index i = 0; i < engine.logits.size(); ++i) {
        engine.logits(i) = static_cast<double>(last[static_cast<std::size_t>(i * kStep)]);
        engine.error(i) = analysis.logit_error(19, i * kStep);
      }
      return engine;
    }();
    return kEngine;
  }

  /// The largest difference of a logit, in units of what rounding explains.
  static double excess(const TinyTransformer& model) {
    const Rows logits = model.logits(engine().tokens);
    double largest = 0;
    for (Eigen::Index i = 0; i < engine().logits.size(); ++i) {
      const double off = std::abs(logits(19, i * kStep) - engine().logits(i));
      largest = std::max(largest, off / engine().error(i));
    }
    return largest;
  }
};

TEST_F(PlantedMistake, without_one_logits_are_within_the_bound) {
  EXPECT_LT(excess(TinyTransformer(kConfig, engine().weights)), 1);
  EXPECT_LT(engine().error.maxCoeff(), 0x1p-10 * engine().spread);
}

TEST_P(PlantedMistake, exceeds_the_bound) {
  const double found = excess(*GetParam().plant(kConfig, engine().weights));
  std::cout << GetParam().name << ": " << found << " times what rounding explains\n";
  EXPECT_GT(found, 1);
}

std::string name_of_mistake(const ::testing::TestParamInfo<Mistake>& info) {
  return testing::identifier(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedMistake, ::testing::ValuesIn(mistakes()), name_of_mistake);

}  // namespace
}  // namespace forge::reference
