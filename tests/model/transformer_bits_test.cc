// What a request's logits may not depend on, bit by bit: the rest of the batch, the chunking of its
// prompt, the block size, the blocks, the number of threads.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <memory>

#include "model/stored_weights.h"
#include "model/transformer_runner.h"

namespace forge::model {
namespace {

using quant::WeightType;
using testing::LoadedModel;
using testing::Logits;
using testing::logits_alone;
using testing::Piece;
using testing::some_tokens;
using testing::StoredWeights;
using testing::TransformerRunner;

/// A model of random weights.
struct RandomModel {
  RandomModel(const ModelConfig& config, WeightType type)
      : transformer(config, pack(config, weights.random(config, type), threads).value()) {}

  StoredWeights weights;
  linear::ThreadPool threads{1};
  Transformer transformer;
};

constexpr const char* kFamilies[] = {"llama",
                                     "llama_bf16",
                                     "llama3_rope",
                                     "mistral",
                                     "mistral_sliding",
                                     "qwen2",
                                     "qwen3",
                                     "qwen3_moe",
                                     "deepseek_v2",
                                     "deepseek_v3",
                                     "olmo2",
                                     "qwen3_moe_unnormed",
                                     "deepseek_v2_lite",
                                     "granite",
                                     "llama_biases",
                                     "qwen2_windows",
                                     "mixtral",
                                     "qwen2_moe",
                                     "smollm3",
                                     "phi3_long",
                                     "olmo3",
                                     "glm4",
                                     "gemma2",
                                     "gemma3",
                                     "gpt_oss",
                                     "gpt_oss_codes_mxfp4",
                                     "llama/model.gguf"};

constexpr WeightType kTypes[] = {
    WeightType::f32,  WeightType::bf16,   WeightType::f16,    WeightType::q8_0,
    WeightType::q4_0, WeightType::q5_0,   WeightType::q5_1,   WeightType::q4_k,
    WeightType::q5_k, WeightType::q6_k,   WeightType::q4_1,   WeightType::q2_k,
    WeightType::q3_k, WeightType::iq4_nl, WeightType::iq4_xs, WeightType::mxfp4};

/// By name: a golden model, or "llama Q4_K", "experts F16", "latent BF16".
const Transformer& model(const std::string& name) {
  static std::map<std::string, std::unique_ptr<LoadedModel>> loaded;
  static std::map<std::string, std::unique_ptr<RandomModel>> random;
  const auto space = name.find(' ');
  if (space == std::string::npos) {
    auto& found = loaded[name];
    if (!found) found = std::make_unique<LoadedModel>(FORGE_GOLDEN_MODELS "/" + name);
    return found->transformer();
  }
  auto& found = random[name];
  if (!found) {
    const std::string kind = name.substr(0, space);
    const ModelConfig config = kind == "llama"     ? testing::wide_llama()
                               : kind == "experts" ? testing::wide_experts()
                               : kind == "sinks"   ? testing::wide_sinks()
                                                   : testing::wide_latent();
    found = std::make_unique<RandomModel>(config, *quant::weight_type(name.substr(space + 1)));
  }
  return found->transformer;
}

std::vector<std::string> names() {
  std::vector<std::string> all(std::begin(kFamilies), std::end(kFamilies));
  for (const char* kind : {"llama ", "experts ", "latent ", "sinks "}) {
    for (const WeightType type : kTypes) all.push_back(kind + std::string(name_of(type)));
  }
  return all;
}

/// Runs all sequences to their ends, each step some rows of some of them; every row's logits have
/// to be those of the sequence alone.
void expect_bits_of_alone(const Transformer& transformer, testing::RunSetup setup,
                          const std::vector<std::vector<TokenId>>& sequences,
                          const std::function<std::uint32_t(std::uint32_t)>& rows_of_step) {
  TransformerRunner runner(transformer, setup);
  std::vector<std::vector<Logits>> expected;
  for (const auto& tokens : sequences) {
    runner.add(tokens, static_cast<std::uint32_t>(tokens.size()));
    expected.push_back(logits_alone(transformer, tokens));
  }
  std::vector<std::uint32_t> done(sequences.size());
  for (;;) {
    std::vector<Piece> pieces;
    bool is_unfinished = false;
    for (std::uint32_t s = 0; s < sequences.size(); ++s) {
      const auto left = static_cast<std::uint32_t>(sequences[s].size()) - done[s];
      is_unfinished = is_unfinished || left > 0;
      const std::uint32_t count = left == 0 ? 0 : rows_of_step(left);
      if (count > 0) pieces.push_back({s, done[s], count});
    }
    if (!is_unfinished) return;
    const auto rows = runner.run(pieces);
    std::size_t row = 0;
    for (const Piece& piece : pieces) {
      for (std::uint32_t i = 0; i < piece.count; ++i) {
        RC_ASSERT(rows[row++] == expected[piece.sequence][piece.first + i]);
      }
      done[piece.sequence] += piece.count;
    }
  }
}

RC_GTEST_PROP(TransformerBits, of_a_request_depend_on_the_request_alone, ()) {
  const auto name = *rc::gen::elementOf(names());
  const Transformer& transformer = model(name);
  const auto count = *rc::gen::inRange<std::size_t>(1, 5);
  std::vector<std::vector<TokenId>> sequences;
  for (std::uint32_t s = 0; s < count; ++s) {
    const auto length = *rc::gen::inRange<std::size_t>(1, 30);
    sequences.push_back(some_tokens(length, s + 1, transformer.config().vocabulary_size));
  }
  const auto block_size = *rc::gen::inRange<std::uint32_t>(1, 33);
  const auto threads = *rc::gen::inRange(1, 4);
  RC_LOG() << name << ", block size " << block_size << ", threads " << threads;
  expect_bits_of_alone(transformer, {4 * 30, block_size, threads}, sequences,
                       [](std::uint32_t left) {
                         return *rc::gen::inRange<std::uint32_t>(1, std::min(left, 12U) + 1);
                       });
}

class TransformerBitsOf : public ::testing::TestWithParam<std::string> {};

TEST_P(TransformerBitsOf, a_long_context_alone_and_token_by_token_are_the_same) {
  const Transformer& transformer = model(GetParam());
  const auto tokens = some_tokens(270, 1, transformer.config().vocabulary_size);
  const auto expected = logits_alone(transformer, tokens);
  TransformerRunner runner(transformer, {.num_blocks = 40, .block_size = 7, .threads = 2});
  runner.add(tokens, 270);
  runner.run({{0, 0, 250}});
  for (std::uint32_t p = 250; p < 270; ++p) {
    const auto row = runner.run({{0, p, 1}})[0];
    ASSERT_EQ(row, expected[p]) << p;
    for (const float logit : row) ASSERT_TRUE(std::isfinite(logit));
  }
}

std::string model_name(const ::testing::TestParamInfo<std::string>& info) {
  return testing::identifier(info.param);
}

INSTANTIATE_TEST_SUITE_P(All, TransformerBitsOf, ::testing::ValuesIn(names()), model_name);

}  // namespace
}  // namespace forge::model
