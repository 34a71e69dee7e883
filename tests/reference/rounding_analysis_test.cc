#include "forge/reference/rounding_analysis.h"

#include <gtest/gtest.h>

#include <cmath>

#include "forge/numerics/attention.h"
#include "forge/numerics/reference.h"
#include "forge/reference/seeded_model.h"
#include "model/transformer_runner.h"
#include "reference/other_norms.h"
#include "rounding.h"

namespace forge::reference {
namespace {

using testing::some_tokens;

// Small, with every part at least twice.
constexpr TinyConfig kSmall{.vocabulary_size = 40,
                            .hidden_size = 12,
                            .layers = 3,
                            .heads = 4,
                            .kv_heads = 2,
                            .head_size = 6,
                            .ffn_size = 20,
                            .norm_eps = 1e-3F};

TEST(RoundingAnalysis, its_logits_are_those_of_the_model) {
  const TinyTransformer model(kSmall);
  const auto tokens = some_tokens(30, 1, kSmall.vocabulary_size);
  const RoundingAnalysis analysis(model, tokens);
  EXPECT_LT((analysis.logits() - model.logits(tokens)).cwiseAbs().maxCoeff(), 1e-12);
}

/// The model whose embeddings are those of the tokens and a little more.
class Nudged : public TinyTransformer {
 public:
  Nudged(const TinyTransformer& model, Rows nudge)
      : TinyTransformer(model.config(), model.weights()), nudge_(std::move(nudge)) {}
  Rows embed(std::span<const TokenId> tokens) const override {
    return TinyTransformer::embed(tokens) + nudge_;
  }

 private:
  Rows nudge_;
};

TEST(RoundingAnalysis, derivatives_are_those_that_differences_show) {
  const TinyTransformer model(kSmall, testing::with_other_norms(seeded_weights(kSmall)));
  const auto tokens = some_tokens(9, 2, kSmall.vocabulary_size);
  const RoundingAnalysis analysis(model, tokens);
  const Eigen::RowVectorXd factors = Eigen::RowVectorXd::Random(kSmall.vocabulary_size);
  const Eigen::Index row = 7;
  const Rows gradient = analysis.sensitivity(row, factors).gradient;
  ASSERT_EQ(gradient.rows(), 8);

  constexpr double kStep = 1e-5;  // errors: kStep^2 and 1e-15 / kStep, times large derivatives
  for (Eigen::Index t = 0; t < gradient.rows(); ++t) {
    for (Eigen::Index i = 0; i < gradient.cols(); ++i) {
      Rows nudge = Rows::Zero(9, kSmall.hidden_size);
      const auto sum_at = [&](double step) {
        nudge(t, i) = step;
        return factors.dot(Nudged(model, nudge).logits(tokens).row(row));
      };
      const double slope = (sum_at(kStep) - sum_at(-kStep)) / (2 * kStep);
      EXPECT_NEAR(gradient(t, i), slope, 1e-6 * gradient.cwiseAbs().maxCoeff()) << t << ' ' << i;
    }
  }
}

TEST(RoundingAnalysis, a_margin_may_be_off_by_no_more_than_its_two_logits) {
  const TinyTransformer model(kSmall);
  const RoundingAnalysis analysis(model, some_tokens(10, 3, kSmall.vocabulary_size));
  const double one = analysis.logit_error(9, 4), other = analysis.logit_error(9, 5);
  const double margin = analysis.margin_error(9, 4, 5);
  EXPECT_GT(margin, 0);
  EXPECT_LT(margin, (one + other) * (1 + 1e-12));
  EXPECT_EQ(analysis.margin_error(9, 4, 4), 0);
}

// The bounds of single operations, against the operations.

std::vector<float> floats(const Rows& rows) {
  const Eigen::Matrix<float, 1, Eigen::Dynamic> flat =
      Eigen::Map<const Eigen::RowVectorXd>(rows.data(), rows.size()).cast<float>();
  return {flat.begin(), flat.end()};
}

/// Random numbers that floats have.
Rows random_rows(Eigen::Index rows, Eigen::Index columns) {
  return Rows::Random(rows, columns).cast<float>().cast<double>();
}

TEST(Rounding, a_product_is_within_its_bound_which_is_that_of_its_partial_sums) {
  for (const int inputs : {1, 2, 64, 256, 257, 700}) {
    const Rows x = random_rows(3, inputs), w = random_rows(5, inputs);
    const Rounded product = rounded_product(x, w.cast<float>().eval());
    EXPECT_LT((product.value - x * w.transpose()).norm(), 1e-12);
    const auto xf = floats(x), wf = floats(w);
    for (int t = 0; t < 3; ++t) {
      for (int n = 0; n < 5; ++n) {
        const float engine =
            numerics::product_reference(xf.data() + t * inputs, wf.data() + n * inputs, inputs);
        const double off = std::abs(static_cast<double>(engine) - product.value(t, n));
        EXPECT_LE(off, product.error(t, n)) << inputs;
        // Higham, section 3.1: what is known without the partial sums.
        const double magnitudes = x.row(t).cwiseAbs().dot(w.row(n).cwiseAbs());
        EXPECT_LE(product.error(t, n), (inputs + 2) * kUnit * magnitudes) << inputs;
      }
    }
  }
}

TEST(Rounding, a_partial_sum_that_cancels_shows_in_the_bound_and_not_in_the_result) {
  const Rows x{{0x1p20, 1, -0x1p20}};
  const Rounded product = rounded_product(x, Matrix(Matrix::Ones(1, 3)));
  EXPECT_EQ(product.value(0, 0), 1);
  EXPECT_EQ(product.error(0, 0), kUnit * (0x1p20 + (0x1p20 + 1) + 1));
}

TEST(Rounding, a_norm_s_factor_is_within_its_bound) {
  for (const int size : {1, 5, 32, 33, 64, 200}) {
    const Rows x = random_rows(1, size);
    const auto xf = floats(x);
    std::vector<float> y(xf.size());
    const std::vector<float> ones(xf.size(), 1.0F);
    numerics::rms_norm_reference(xf.data(), ones.data(), size, 1e-5F, y.data());
    const double eps = static_cast<double>(1e-5F);
    const double factor = 1 / std::sqrt(x.squaredNorm() / size + eps);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double exact = factor * x(0, static_cast<Eigen::Index>(i));
      EXPECT_LE(std::abs(static_cast<double>(y[i]) - exact),
                (norm_factor_error(size) + kUnit) * std::abs(exact));
    }
  }
}

TEST(Rounding, a_rotation_is_within_its_bound) {
  const TinyConfig config{.head_size = 8};
  const TinyTransformer model(config);
  const Rows heads = random_rows(300, 16);
  const Rows turned = model.rotate(heads);
  const Rows error = rotation_errors(config, heads, turned);
  model::RotaryTable table(config.rope());
  table.ensure(300);
  auto engine = floats(heads);
  for (std::uint32_t t = 0; t < 300; ++t) {
    for (std::size_t first = 0; first < 16; first += 8) {
      float* head = engine.data() + t * 16 + first;
      numerics::rotate_pairs_reference(head, table.cos(t), table.sin(t), 4);
      for (std::size_t i = 0; i < 8; ++i) {
        const auto column = static_cast<Eigen::Index>(first + i);
        EXPECT_LE(std::abs(static_cast<double>(head[i]) - turned(t, column)), error(t, column));
      }
    }
  }
}

TEST(Rounding, attention_over_several_segments_of_keys_is_within_its_bound) {
  constexpr int kTokens = 3 * numerics::kKeySegment + 40, kSize = 8;
  TinyConfig config{.head_size = kSize};
  const TinyTransformer model(config);
  const Rows q = 3 * random_rows(kTokens, kSize), k = 3 * random_rows(kTokens, kSize);
  const Rows v = random_rows(kTokens, kSize);
  const auto [attention, out] = rounded_attention(model, q, k, v);
  const Rows exact = attention.weights * v;
  EXPECT_LT((out.value - exact).norm(), 1e-11);

  const auto qf = floats(q), vf = floats(v);
  const auto keys = floats(Rows(k.transpose()));  // [D][slots], one block
  const std::vector<std::uint32_t> block{0};
  for (int t = 0; t < kTokens; t += 7) {
    std::vector<float> engine(kSize);
    numerics::attend_reference(
        {qf.data() + static_cast<std::ptrdiff_t>(t) * kSize, 1, numerics::rsqrt(kSize)},
        {keys.data(), vf.data(), 0, kTokens, kSize, block, t + 1}, engine.data());
    // An error of a score moves the weights: by its weight, and all of them back.
    const Eigen::RowVectorXd moved =
        attention.weights.row(t).cwiseProduct(attention.score_error.row(t));
    for (int i = 0; i < kSize; ++i) {
      const double bound = out.error(t, i) + attention.sum_error(t) * std::abs(exact(t, i)) +
                           moved.dot((v.col(i).array() - exact(t, i)).abs().matrix());
      EXPECT_LE(std::abs(static_cast<double>(engine[static_cast<std::size_t>(i)]) - exact(t, i)),
                bound)
          << t << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace forge::reference
