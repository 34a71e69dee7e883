#include "forge/model/transformer.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "model/transformer_runner.h"

namespace forge::model {
namespace {

using testing::LoadedModel;
using testing::Logits;
using testing::logits_alone;
using testing::some_tokens;
using testing::TransformerRunner;

const LoadedModel& loaded(const std::string& name) {
  static std::map<std::string, std::unique_ptr<LoadedModel>> models;
  auto& model = models[name];
  if (!model) model = std::make_unique<LoadedModel>(FORGE_GOLDEN_MODELS "/" + name);
  return *model;
}

constexpr const char* kModels[] = {"llama", "deepseek_v3"};

TEST(Transformer, a_token_sees_all_earlier_tokens_and_no_later_one) {
  for (const char* name : kModels) {
    const Transformer& model = loaded(name).transformer();
    const auto tokens = some_tokens(12, 7, 96);
    const auto expected = logits_alone(model, tokens);
    for (std::size_t changed = 0; changed < tokens.size(); ++changed) {
      auto other = tokens;
      other[changed] = TokenId((tokens[changed].value + 1) % 96);
      const auto rows = logits_alone(model, other);
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        EXPECT_EQ(rows[i] == expected[i], i < changed)
            << name << " changed " << changed << " " << i;
      }
    }
  }
}

TEST(Transformer, a_sliding_window_sees_its_tokens_and_through_layers_those_before) {
  // Two layers with a window of 20: what is 39 or more positions back has no way to a token.
  const Transformer& model = loaded("mistral_sliding").transformer();
  const auto tokens = some_tokens(60, 7, 96);
  const auto expected = logits_alone(model, tokens).back();
  for (const std::size_t back : {19U, 20U, 38U, 39U, 59U}) {
    auto other = tokens;
    other[59 - back] = TokenId((other[59 - back].value + 1) % 96);
    EXPECT_EQ(logits_alone(model, other).back() == expected, back > 38) << back;
  }
}

TEST(Transformer, every_layer_changes_the_logits) {
  for (const char* name : kModels) {
    const Transformer& model = loaded(name).transformer();
    std::vector<Logits> last;
    for (int layers = 1; layers <= model.config().layers; ++layers) {
      TransformerRunner runner(model, {});
      runner.add(some_tokens(20, 8, 96), 20);
      last.push_back(runner.run({{0, 0, 20}}, layers).back());
      for (std::size_t i = 0; i + 1 < last.size(); ++i) EXPECT_NE(last[i], last.back()) << name;
    }
  }
}

TEST(Transformer, a_draft_of_fewer_layers_leaves_the_target_unchanged_in_a_shared_pool) {
  for (const char* name : kModels) {
    const Transformer& model = loaded(name).transformer();
    const auto tokens = some_tokens(30, 9, 96);
    TransformerRunner runner(model, {});
    runner.add(tokens, 30);
    runner.run({{0, 0, 20}});
    for (std::uint32_t p = 20; p < 29; ++p) runner.run({{0, p, 1}}, 1);  // draft runs ahead
    const auto rows = runner.run({{0, 20, 10}});                         // target follows
    const auto expected = logits_alone(model, tokens);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], expected[20 + i]) << name;
  }
}

TEST(Transformer, an_observer_sees_the_pass_in_order_and_changes_nothing) {
  const Transformer& model = loaded("llama").transformer();
  const auto tokens = some_tokens(5, 1, 96);
  TransformerRunner runner(model, {});
  runner.add(tokens, 5);
  std::vector<std::string> seen;
  runner.scratch().observer = [&](const Observation& o) {
    seen.push_back(std::string(name_of(o.point)) +
                   (o.layer ? "." + std::to_string(*o.layer) : std::string()) + " " +
                   std::to_string(o.values.size() / static_cast<std::size_t>(o.width)) + "x" +
                   std::to_string(o.width));
  };
  EXPECT_EQ(runner.run({{0, 0, 5}}), logits_alone(model, tokens));
  EXPECT_EQ(seen, (std::vector<std::string>{"embedding 5x32", "attention.0 5x32", "mlp.0 5x32",
                                            "layer.0 5x32", "attention.1 5x32", "mlp.1 5x32",
                                            "layer.1 5x32", "attention.2 5x32", "mlp.2 5x32",
                                            "layer.2 5x32", "final_norm 5x32", "logits 5x96"}));
}

TEST(Transformer, logits_follow_a_sequence_whose_blocks_are_copied) {
  for (const char* name : kModels) {
    const Transformer& model = loaded(name).transformer();
    const auto tokens = some_tokens(20, 5, 96);
    TransformerRunner runner(model, {.num_blocks = 4, .block_size = 16});
    runner.add(tokens, 20);
    runner.add(tokens, 20);
    runner.run({{0, 0, 19}});
    for (std::size_t i = 0; i < 2; ++i) {
      runner.pool().copy(runner.pool(), runner.table(0)[i], runner.table(1)[i]);
    }
    EXPECT_EQ(runner.run({{1, 19, 1}})[0], logits_alone(model, tokens).back()) << name;
  }
}

TEST(Transformer, latents_take_less_of_the_pool_than_keys_and_values_of_their_heads) {
  const KvShape shape = kv_shape(loaded("deepseek_v3").config());
  EXPECT_EQ(shape.token_numbers(), 3U * (20 + 16));
  EXPECT_EQ(kv_shape(loaded("llama").config()).token_numbers(), 3U * 2 * 2 * 8);
}

TEST(TransformerDeathTest, bad_batches_are_programmer_errors_with_values) {
  const Transformer& model = loaded("llama").transformer();
  TransformerRunner runner(model, {.num_blocks = 2, .block_size = 16});
  runner.add({TokenId(96)}, 16);
  runner.add(some_tokens(20, 1, 96), 16);
  EXPECT_DEATH(runner.run({{0, 0, 1}}), "token=96 vocabulary=96");
  EXPECT_DEATH(runner.run({{1, 0, 17}}), "position=16 slots of its block table=16");
  EXPECT_DEATH(runner.run({{1, 0, 1}}, 4), "layers=4 model has 3");
}

TEST(TransformerDeathTest, a_pool_of_another_model_is_a_programmer_error) {
  const Transformer& llama = loaded("llama").transformer();
  linear::ThreadPool threads(1);
  TransformerScratch scratch(llama.config(), threads);
  KvPool pool(kv_shape(loaded("deepseek_v3").config()), 1, 16);
  const TokenId token(1);
  const std::uint32_t zero = 0;
  const std::span<const std::uint32_t> table(&zero, 1);
  std::vector<float> logits(96);
  EXPECT_DEATH(
      llama.forward({{&token, 1}, table, table, {&table, 1}, table}, pool, scratch, logits, 3),
      "the pool is of another model");
}

}  // namespace
}  // namespace forge::model
