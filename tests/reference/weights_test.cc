#include "forge/reference/weights.h"

#include <gtest/gtest.h>

#include <cmath>

namespace forge::reference {
namespace {

TEST(Weights, are_a_function_of_the_configuration) {
  const Weights a = seeded_weights({}), b = seeded_weights({});
  EXPECT_EQ(a.embedding, b.embedding);
  EXPECT_EQ(a.layers.back().down, b.layers.back().down);
  EXPECT_NE(a.embedding, seeded_weights({.seed = 2}).embedding);
}

TEST(Weights, tensors_and_layers_differ_from_one_another) {
  const Weights w = seeded_weights({});
  EXPECT_NE(w.layers[0].gate, w.layers[0].up);
  EXPECT_NE(w.layers[0].key, w.layers[0].value);
  EXPECT_NE(w.layers[0].query, w.layers[1].query);
}

TEST(Weights, have_the_shapes_of_the_configuration) {
  const TinyConfig config{.vocabulary_size = 30,
                          .hidden_size = 24,
                          .layers = 3,
                          .heads = 6,
                          .kv_heads = 2,
                          .head_size = 8,
                          .ffn_size = 40};
  const Weights w = seeded_weights(config);
  const auto shape = [](const auto& m) { return std::pair{m.rows(), m.cols()}; };
  using Shape = std::pair<Eigen::Index, Eigen::Index>;
  EXPECT_EQ(shape(w.embedding), Shape(30, 24));
  ASSERT_EQ(w.layers.size(), 3U);
  EXPECT_EQ(shape(w.layers[2].query), Shape(48, 24));
  EXPECT_EQ(shape(w.layers[2].key), Shape(16, 24));
  EXPECT_EQ(shape(w.layers[2].value), Shape(16, 24));
  EXPECT_EQ(shape(w.layers[2].output), Shape(24, 48));
  EXPECT_EQ(shape(w.layers[2].gate), Shape(40, 24));
  EXPECT_EQ(shape(w.layers[2].up), Shape(40, 24));
  EXPECT_EQ(shape(w.layers[2].down), Shape(24, 40));
  EXPECT_EQ(w.final_norm.size(), 24);
}

TEST(Weights, letters_are_louder_than_other_text_and_text_than_the_rest) {
  const Matrix e = seeded_weights({}).embedding;
  const auto loudness = [&](int first, int last) {
    return e.middleRows(first + 1, last - first + 1).rowwise().norm().mean();
  };
  EXPECT_GT(loudness('a', 'z'), 1.3F * loudness('0', '9'));
  EXPECT_GT(loudness('0', '9'), 5 * loudness(0x80, 0xFF));
}

TEST(Weights, a_linear_layer_keeps_the_size_of_its_inputs) {
  // The sample deviation of n nearly normal numbers is within 5 / sqrt(2 n) of 1.
  const Matrix gate = seeded_weights({}).layers[0].gate;
  const float deviation = gate.norm() / std::sqrt(static_cast<float>(gate.rows()));
  EXPECT_NEAR(deviation, 1.0F, 5 / std::sqrt(2.0F * static_cast<float>(gate.size())));
}

}  // namespace
}  // namespace forge::reference
