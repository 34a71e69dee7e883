#include "forge/reference/tiny_transformer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/model_runner.h"

namespace forge::reference {
namespace {

using testing::blocks_from;
using testing::Logits;
using testing::ModelRunner;
using testing::some_tokens;

const TinyTransformer& model() {
  static const TinyTransformer kModel{TinyConfig{}};
  return kModel;
}

/// Logits of every position of `tokens`, run alone in one pass from an empty cache.
std::vector<Logits> alone(const std::vector<TokenId>& tokens, std::uint32_t block_size = 16) {
  const auto count = static_cast<std::uint32_t>(tokens.size());
  const std::uint32_t blocks = (count + block_size - 1) / block_size;
  ModelRunner runner(model(), blocks, block_size);
  runner.add(tokens, blocks_from(0, blocks));
  return runner.run({{0, 0, count}});
}

// All comparisons below are of bits: Logits are compared with ==, and none is NaN.
TEST(TinyTransformer, logits_are_finite) {
  for (const Logits& row : alone(some_tokens(40, 1))) {
    for (const float x : row) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST(TinyTransformer, logits_do_not_depend_on_the_chunking_of_the_prompt) {
  const auto tokens = some_tokens(50, 1);
  const auto expected = alone(tokens);
  for (const std::uint32_t chunk : {1U, 2U, 7U, 16U, 33U}) {
    ModelRunner runner(model(), 4, 16);
    runner.add(tokens, blocks_from(0, 4));
    for (std::uint32_t first = 0; first < 50; first += chunk) {
      const std::uint32_t count = std::min(chunk, 50 - first);
      const auto rows = runner.run({{0, first, count}});
      for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(rows[i], expected[first + i]) << "chunk " << chunk << " position " << first + i;
      }
    }
  }
}

TEST(TinyTransformer, logits_do_not_depend_on_the_rest_of_the_batch) {
  // Sixteen sequences of different lengths: prompt together, then one token of each together.
  ModelRunner runner(model(), 64, 16);
  std::vector<testing::Piece> prompts, decodes;
  std::vector<std::vector<Logits>> expected;
  for (std::uint32_t s = 0; s < 16; ++s) {
    const std::uint32_t length = 3 + 2 * s;
    const auto tokens = some_tokens(length, s);
    runner.add(tokens, blocks_from(4 * s, 4));
    prompts.push_back({s, 0, length - 1});
    decodes.push_back({s, length - 1, 1});
    expected.push_back(alone(tokens));
  }
  const auto prompt_rows = runner.run(prompts);
  const auto decode_rows = runner.run(decodes);
  std::size_t row = 0;
  for (std::uint32_t s = 0; s < 16; ++s) {
    for (std::uint32_t i = 0; i + 1 < expected[s].size(); ++i) {
      ASSERT_EQ(prompt_rows[row++], expected[s][i]) << "sequence " << s << " position " << i;
    }
    ASSERT_EQ(decode_rows[s], expected[s].back()) << "sequence " << s;
  }
}

TEST(TinyTransformer, logits_do_not_depend_on_the_block_size) {
  const auto tokens = some_tokens(50, 2);
  const auto expected = alone(tokens);
  for (const std::uint32_t block_size : {1U, 3U, 8U, 64U}) {
    EXPECT_EQ(alone(tokens, block_size), expected) << "block size " << block_size;
  }
}

TEST(TinyTransformer, logits_do_not_depend_on_the_physical_blocks) {
  const auto tokens = some_tokens(50, 3);
  ModelRunner runner(model(), 100, 16);
  runner.add(tokens, {97, 3, 42, 41});
  EXPECT_EQ(runner.run({{0, 0, 50}}), alone(tokens));
}

TEST(TinyTransformer, logits_do_not_depend_on_what_a_block_held_before) {
  const auto tokens = some_tokens(50, 3);
  ModelRunner runner(model(), 4, 16);
  runner.add(some_tokens(64, 4), blocks_from(0, 4));
  runner.add(tokens, {2, 0, 3, 1});
  runner.run({{0, 0, 64}});
  EXPECT_EQ(runner.run({{1, 0, 50}}), alone(tokens));
}

TEST(TinyTransformer, logits_follow_a_sequence_whose_block_is_copied) {
  const auto tokens = some_tokens(20, 5);
  ModelRunner runner(model(), 4, 16);
  runner.add(tokens, {0, 1});
  runner.add(tokens, {3, 2});
  runner.run({{0, 0, 19}});
  runner.pool().copy(runner.pool(), 0, 3);
  runner.pool().copy(runner.pool(), 1, 2);
  EXPECT_EQ(runner.run({{1, 19, 1}})[0], alone(tokens).back());
}

TEST(TinyTransformer, chunked_softmax_of_long_contexts_is_invariant_too) {
  const auto tokens = some_tokens(600, 6);
  const auto expected = alone(tokens);
  ModelRunner runner(model(), 60, 10);
  runner.add(tokens, blocks_from(0, 60));
  runner.run({{0, 0, 599}});
  EXPECT_EQ(runner.run({{0, 599, 1}})[0], expected.back());
}

TEST(TinyTransformer, a_token_sees_all_earlier_tokens_and_no_later_one) {
  const auto tokens = some_tokens(12, 7);
  const auto expected = alone(tokens);
  for (std::size_t changed = 0; changed < tokens.size(); ++changed) {
    auto other = tokens;
    other[changed] = TokenId((tokens[changed].value + 1) % 320);
    const auto rows = alone(other);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_EQ(rows[i] == expected[i], i < changed) << "changed " << changed << " row " << i;
    }
  }
}

TEST(TinyTransformer, the_order_of_tokens_matters) {
  EXPECT_NE(alone({TokenId(98), TokenId(99), TokenId(100)}).back(),
            alone({TokenId(99), TokenId(98), TokenId(100)}).back());
}

TEST(TinyTransformer, every_layer_changes_the_logits) {
  const auto tokens = some_tokens(20, 8);
  std::vector<Logits> last;
  for (int layers = 1; layers <= model().config().layers; ++layers) {
    ModelRunner runner(model(), 2, 16);
    runner.add(tokens, {0, 1});
    last.push_back(runner.run({{0, 0, 20}}, layers).back());
    for (std::size_t i = 0; i + 1 < last.size(); ++i) EXPECT_NE(last[i], last.back());
  }
}

TEST(TinyTransformer, a_draft_of_fewer_layers_leaves_the_target_unchanged_in_a_shared_pool) {
  const auto tokens = some_tokens(30, 9);
  ModelRunner runner(model(), 2, 16);
  runner.add(tokens, {0, 1});
  runner.run({{0, 0, 20}});
  for (std::uint32_t p = 20; p < 29; ++p) runner.run({{0, p, 1}}, 2);  // draft runs ahead
  const auto rows = runner.run({{0, 20, 10}});                         // target follows
  const auto expected = alone(tokens);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], expected[20 + i]);
}

TEST(TinyTransformer, an_odd_shape_is_invariant_too) {
  const TinyTransformer odd(TinyConfig{.vocabulary_size = 37,
                                       .hidden_size = 50,
                                       .layers = 3,
                                       .heads = 6,
                                       .kv_heads = 2,
                                       .head_size = 10,
                                       .ffn_size = 70});
  const auto tokens = some_tokens(23, 1, 37);
  ModelRunner whole(odd, 23, 1), stepwise(odd, 5, 5);
  whole.add(tokens, blocks_from(0, 23));
  stepwise.add(tokens, {4, 2, 0, 1, 3});
  const auto expected = whole.run({{0, 0, 23}});
  for (std::uint32_t p = 0; p < 23; ++p) EXPECT_EQ(stepwise.run({{0, p, 1}})[0], expected[p]);
}

TEST(TinyTransformerDeathTest, bad_batches_are_programmer_errors_with_values) {
  ModelRunner runner(model(), 2, 16);
  runner.add({TokenId(320)}, {0});
  runner.add(some_tokens(20, 1), {1});
  EXPECT_DEATH(runner.run({{0, 0, 1}}), "token=320 vocabulary=320");
  EXPECT_DEATH(runner.run({{1, 0, 17}}), "position=16 slots of its block table=16");
  EXPECT_DEATH(runner.run({{1, 0, 1}}, 5), "layers=5 model has 4");
}

}  // namespace
}  // namespace forge::reference
