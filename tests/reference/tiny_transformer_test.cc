// TinyTransformer against numbers that another implementation computed in double (the golden model
// `tales`, from transformers), each step against values computed by hand.
#include "forge/reference/tiny_transformer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/pieces.h"
#include "reference/stored_llama.h"

namespace forge::reference {
namespace {

using testing::some_tokens;

// What golden.json holds was computed in double and written with nine significant digits.
constexpr double kGoldenDigits = 1e-7;

class TinyTransformerGolden : public ::testing::Test {
 protected:
  TinyTransformerGolden()
      : json_(nlohmann::json::parse(std::ifstream(FORGE_TALES "/golden.json"))),
        model_(testing::tiny_transformer_of(checkpoint::Checkpoint::open(FORGE_TALES).value())) {
    for (const auto& token : json_["tokens"]) tokens_.emplace_back(token.get<std::uint32_t>());
  }

  nlohmann::json json_;
  TinyTransformer model_;
  std::vector<TokenId> tokens_;
};

TEST_F(TinyTransformerGolden, logits_are_those_of_an_independent_implementation) {
  const Rows logits = model_.logits(tokens_);
  ASSERT_EQ(json_["positions"].size(), json_["logits"].size());
  for (std::size_t i = 0; i < json_["positions"].size(); ++i) {
    const auto position = json_["positions"][i].get<Eigen::Index>();
    ASSERT_EQ(json_["logits"][i].size(), static_cast<std::size_t>(logits.cols()));
    for (Eigen::Index v = 0; v < logits.cols(); ++v) {
      EXPECT_NEAR(logits(position, v), json_["logits"][i][v].get<double>(), kGoldenDigits)
          << "position " << position << " token " << v;
    }
  }
}

TEST_F(TinyTransformerGolden, every_position_agrees_on_the_likeliest_token_and_on_the_sum) {
  const Rows logits = model_.logits(tokens_);
  ASSERT_EQ(json_["argmax"].size(), tokens_.size());
  for (Eigen::Index t = 0; t < logits.rows(); ++t) {
    Eigen::Index best = 0;
    logits.row(t).maxCoeff(&best);
    EXPECT_EQ(best, json_["argmax"][t].get<Eigen::Index>()) << t;
    EXPECT_NEAR(std::log(logits.row(t).array().exp().sum()), json_["logsumexp"][t].get<double>(),
                kGoldenDigits)
        << t;
  }
}

TEST_F(TinyTransformerGolden, every_layer_has_the_hidden_states_of_the_other_implementation) {
  Rows x = model_.embed(tokens_);
  const auto expect_last = [&](const Rows& rows, std::size_t at) {
    for (Eigen::Index i = 0; i < rows.cols(); ++i) {
      EXPECT_NEAR(rows(rows.rows() - 1, i), json_["hidden"][at][i].get<double>(), kGoldenDigits)
          << "state " << at << " component " << i;
    }
  };
  expect_last(x, 0);
  std::size_t at = 0;
  for (const LayerWeights& w : model_.weights().layers) {
    x = model_.layer(w, x);
    expect_last(x, ++at);
  }
  expect_last(model_.norm(x, model_.weights().final_norm), ++at);
}

// A shape whose steps fit on paper.
TinyConfig on_paper() {
  return {.vocabulary_size = 3,
          .hidden_size = 2,
          .layers = 1,
          .heads = 1,
          .kv_heads = 1,
          .head_size = 2,
          .ffn_size = 1,
          .rope_base = 100,
          .norm_eps = 0.5F};
}

TEST(TinyTransformer, norm_divides_by_the_root_of_the_mean_square) {
  const TinyTransformer model(on_paper());
  // (1^2 + 7^2) / 2 + 0.5 = 25.5; (0 + 0) / 2 + 0.5 = 0.5
  const Rows x{{1, 7}, {0, 0}};
  const Rows y = model.norm(x, Vector{{2, 3}});
  EXPECT_DOUBLE_EQ(y(0, 0), 2 / std::sqrt(25.5));
  EXPECT_DOUBLE_EQ(y(0, 1), 21 / std::sqrt(25.5));
  EXPECT_EQ(y.row(1).norm(), 0);
}

TEST(TinyTransformer, a_pair_turns_by_its_position_in_radians_the_first_of_a_head) {
  const TinyTransformer model(on_paper());
  const Rows turned = model.rotate(Rows{{3, 4}, {1, 0}, {0, 1}});
  EXPECT_EQ(turned.row(0), Eigen::RowVector2d(3, 4));
  EXPECT_DOUBLE_EQ(turned(1, 0), std::cos(1.0));
  EXPECT_DOUBLE_EQ(turned(1, 1), std::sin(1.0));
  EXPECT_DOUBLE_EQ(turned(2, 0), -std::sin(2.0));
  EXPECT_DOUBLE_EQ(turned(2, 1), std::cos(2.0));
}

TEST(TinyTransformer, later_pairs_turn_slower_and_a_pair_is_half_a_head_apart) {
  TinyConfig config = on_paper();
  config.head_size = 4;
  const TinyTransformer model(config);
  Rows heads = Rows::Zero(2, 8);
  heads(1, 5) = 1;  // the second pair of the second head: components 5 and 7
  const Rows turned = model.rotate(heads);
  EXPECT_DOUBLE_EQ(turned(1, 5), std::cos(0.1));  // 100^(-2/4)
  EXPECT_DOUBLE_EQ(turned(1, 7), std::sin(0.1));
  EXPECT_NEAR(turned.norm(), 1, 1e-15);
}

TEST(TinyTransformer, attention_weights_are_a_softmax_over_what_came_before) {
  const TinyTransformer model(on_paper());
  const Rows q{{1, 0}, {std::sqrt(2), 0}};
  const Rows k{{5, 9}, {5 + std::log(3), -9}};
  const Rows shares = model.attention_weights(q, k);
  EXPECT_EQ(shares.row(0), Eigen::RowVector2d(1, 0));  // itself alone
  EXPECT_NEAR(shares(1, 0), 0.25, 1e-15);              // scores 5 and 5 + ln 3
  EXPECT_NEAR(shares(1, 1), 0.75, 1e-15);
}

TEST(TinyTransformer, silu_is_x_times_the_logistic_function) {
  const TinyTransformer model(on_paper());
  const Rows y = model.silu(Rows{{0, std::log(3), -std::log(3)}});
  EXPECT_EQ(y(0, 0), 0);
  EXPECT_DOUBLE_EQ(y(0, 1), 0.75 * std::log(3));
  EXPECT_DOUBLE_EQ(y(0, 2), -0.25 * std::log(3));
}

TEST(TinyTransformer, one_token_attends_to_itself_so_attention_is_two_products) {
  const TinyTransformer model{TinyConfig{}};
  const LayerWeights& w = model.weights().layers[0];
  const Rows x = model.embed(some_tokens(1, 3));
  const Rows v = product(x, w.value);
  Rows attended(1, 64);  // each KV head serves two query heads
  attended << v.leftCols(16), v.leftCols(16), v.rightCols(16), v.rightCols(16);
  EXPECT_LT((model.attention(w, x) - product(attended, w.output)).norm(), 1e-12);
}

TEST(TinyTransformer, a_layer_adds_to_what_it_reads) {
  TinyConfig config;
  Weights silent = seeded_weights(config);
  for (LayerWeights& w : silent.layers) {
    w.output.setZero();
    w.down.setZero();
  }
  const TinyTransformer model(config, silent);
  const Rows x = model.embed(some_tokens(5, 1));
  EXPECT_EQ(model.layer(model.weights().layers[2], x), x);
}

TEST(TinyTransformer, scores_depend_on_distances_not_on_positions) {
  const TinyTransformer model{TinyConfig{}};
  // The same query everywhere, the same key everywhere: row t shares t - s back alike.
  const Rows q = model.rotate(Rows::Ones(6, 1) * Rows::Random(1, 16));
  const Rows k = model.rotate(Rows::Ones(6, 1) * Rows::Random(1, 16));
  const Rows scores = q * k.transpose();
  for (Eigen::Index t = 1; t < 6; ++t) {
    for (Eigen::Index s = 1; s <= t; ++s) {
      EXPECT_NEAR(scores(t, s), scores(t - 1, s - 1), 1e-12) << t << ' ' << s;
    }
  }
}

TEST(TinyTransformer, a_token_sees_all_earlier_tokens_and_no_later_one) {
  const TinyTransformer model{TinyConfig{}};
  const auto tokens = some_tokens(12, 7);
  const Rows expected = model.logits(tokens);
  for (std::size_t changed = 0; changed < tokens.size(); ++changed) {
    auto other = tokens;
    other[changed] = TokenId((tokens[changed].value + 1) % 320);
    const Rows logits = model.logits(other);
    for (Eigen::Index t = 0; t < logits.rows(); ++t) {
      const double difference = (logits.row(t) - expected.row(t)).norm();
      const bool sees = t >= static_cast<Eigen::Index>(changed);
      EXPECT_TRUE(sees ? difference > 1e-3 : difference < 1e-9) << changed << ' ' << t;
    }
  }
}

TEST(TinyTransformer, a_draft_of_some_layers_is_the_model_that_has_no_others) {
  const TinyTransformer model{TinyConfig{}};
  Weights fewer = model.weights();
  fewer.layers.resize(2);
  const TinyTransformer draft({.layers = 2}, fewer);
  const auto tokens = some_tokens(9, 8);
  EXPECT_EQ(model.logits(tokens, 2), draft.logits(tokens));
  EXPECT_NE(model.logits(tokens, 2), model.logits(tokens));
}

TEST(TinyTransformerDeathTest, bad_arguments_are_programmer_errors_with_values) {
  const TinyTransformer model{TinyConfig{}};
  EXPECT_DEATH((void)model.logits({{TokenId(320)}}), "token=320 vocabulary=320");
  EXPECT_DEATH((void)model.logits(some_tokens(3, 1), 5), "layers=5 model has 4");
  EXPECT_DEATH(TinyTransformer(TinyConfig{}, Weights{}), "layers=0 config=4");
}

}  // namespace
}  // namespace forge::reference
