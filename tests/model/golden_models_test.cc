// The forward pass against logits of an independent implementation, for every family: the small
// models of tests/golden/models, whose README says how they and their tolerances were made.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/stored_weights.h"
#include "model/transformer_runner.h"

namespace forge::model {
namespace {

using testing::argmax;
using testing::LoadedModel;
using testing::Logits;
using testing::Piece;
using testing::RunSetup;
using testing::StoredWeights;
using testing::TransformerRunner;

std::string models(const std::string& name) { return FORGE_GOLDEN_MODELS "/" + name; }

/// golden.json of a folder.
struct Golden {
  explicit Golden(const std::string& folder)
      : json(nlohmann::json::parse(std::ifstream(models(folder) + "/golden.json"))) {
    for (const auto& token : json["tokens"]) tokens.emplace_back(token.get<std::uint32_t>());
  }

  /// A float32 pass in another order errs like the one that was measured (README, "Precision").
  double tolerance() const { return 4 * json["float32_error"].get<double>(); }

  nlohmann::json json;
  std::vector<TokenId> tokens;
};

/// A checkpoint of a model, and the folder of its golden.json.
struct Variant {
  const char* path;
  const char* golden;
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.path; }

constexpr Variant kVariants[] = {
    {"llama", "llama"},
    {"llama_bf16", "llama"},
    {"llama_sharded", "llama"},
    {"llama/model.gguf", "llama"},
    {"llama3_rope", "llama3_rope"},
    {"llama3_rope/model.gguf", "llama3_rope"},
    {"mistral", "mistral"},
    {"mistral_sliding", "mistral_sliding"},
    {"qwen2", "qwen2"},
    {"qwen2/model.gguf", "qwen2"},
    {"qwen3", "qwen3"},
    {"qwen3_moe", "qwen3_moe"},
    {"qwen3_moe_unnormed", "qwen3_moe_unnormed"},
    {"deepseek_v2_lite", "deepseek_v2_lite"},
    {"deepseek_v2_lite/model.gguf", "deepseek_v2_lite"},
    {"deepseek_v2", "deepseek_v2"},
    {"deepseek_v3", "deepseek_v3"},
    {"deepseek_v3/model.gguf", "deepseek_v3"},
    {"olmo2", "olmo2"},
    {"granite", "granite"},
    {"llama_biases", "llama_biases"},
    {"llama_dynamic", "llama_dynamic"},
    {"qwen2_windows", "qwen2_windows"},
    {"mixtral", "mixtral"},
    {"qwen2_moe", "qwen2_moe"},
    {"smollm3", "smollm3"},
    {"phi3", "phi3"},
    {"phi3_long", "phi3_long"},
    {"olmo3", "olmo3"},
    {"glm4", "glm4"},
    {"gemma2", "gemma2"},
    {"gemma3", "gemma3"},
    {"gpt_oss", "gpt_oss"},
    {"gpt_oss_codes", "gpt_oss_codes"},
    {"gpt_oss_codes/model.gguf", "gpt_oss_codes"},
    {"gpt_oss_codes_mxfp4", "gpt_oss_codes"},
    {"gpt_oss_codes_mxfp4/model.gguf", "gpt_oss_codes"},
    {"tales", "tales"},
    {"tales/tales.gguf", "tales"},
};

/// The checkpoint's weights as floats: exact, and then nothing rounds activations to bf16.
struct WidenedModel {
  explicit WidenedModel(const std::string& path)
      : checkpoint(testing::opened(path)),
        transformer(checkpoint.config(),
                    pack(checkpoint.config(),
                         weights.converted(checkpoint.model(), quant::WeightType::f32), threads)
                        .value()) {}

  checkpoint::Checkpoint checkpoint;
  StoredWeights weights;
  linear::ThreadPool threads{1};
  Transformer transformer;
};

class GoldenModel : public ::testing::TestWithParam<Variant> {
 protected:
  GoldenModel() : golden_(GetParam().golden), model_(models(GetParam().path)) {}

  /// Logits [72] of the prompt, in chunks of these sizes, the last repeated.
  std::vector<Logits> run(RunSetup setup, const std::vector<std::uint32_t>& chunks) {
    TransformerRunner runner(model_.transformer, setup);
    const auto count = static_cast<std::uint32_t>(golden_.tokens.size());
    runner.add(golden_.tokens, count);
    std::vector<Logits> rows;
    std::uint32_t first = 0;
    for (std::size_t i = 0; first < count; ++i) {
      const std::uint32_t size = std::min(chunks[std::min(i, chunks.size() - 1)], count - first);
      for (Logits& row : runner.run({{0, first, size}})) rows.push_back(std::move(row));
      first += size;
    }
    return rows;
  }

  void expect_golden(const std::vector<Logits>& rows) const {
    const auto& json = golden_.json;
    for (std::size_t i = 0; i < json["positions"].size(); ++i) {
      const auto& expected = json["logits"][i];
      const Logits& row = rows[json["positions"][i].get<std::size_t>()];
      ASSERT_EQ(row.size(), expected.size());
      for (std::size_t v = 0; v < row.size(); ++v) {
        ASSERT_NEAR(row[v], expected[v].get<double>(), golden_.tolerance())
            << "position " << json["positions"][i] << " token " << v;
      }
    }
    for (std::size_t position = 0; position < rows.size(); ++position) {
      double sum = 0;
      for (const float logit : rows[position]) sum += std::exp(static_cast<double>(logit));
      ASSERT_NEAR(std::log(sum), json["logsumexp"][position].get<double>(), golden_.tolerance())
          << position;
      ASSERT_EQ(argmax(rows[position]), json["argmax"][position].get<std::uint32_t>()) << position;
    }
  }

  Golden golden_;
  WidenedModel model_;
};

TEST_P(GoldenModel, prompt_in_one_pass) { expect_golden(run({.num_blocks = 5}, {72})); }

TEST_P(GoldenModel, prompt_token_by_token_in_scattered_blocks) {
  expect_golden(run({.num_blocks = 40, .block_size = 5}, {1}));
}

TEST_P(GoldenModel, prompt_in_chunks_on_three_threads) {
  expect_golden(run({.num_blocks = 80, .block_size = 1, .threads = 3}, {17, 1, 30, 24}));
}

TEST_P(GoldenModel, greedy_continuation) {
  const auto& json = golden_.json["greedy"];
  std::vector<Logits> rows;
  const auto tokens = testing::greedy(model_.transformer, golden_.tokens, 16, &rows);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(tokens[i].value, json["tokens"][i].get<std::uint32_t>()) << i;
    for (std::size_t k = 0; k < json["top_tokens"][i].size(); ++k) {
      EXPECT_NEAR(rows[i][json["top_tokens"][i][k].get<std::size_t>()],
                  json["top_logits"][i][k].get<double>(), golden_.tolerance())
          << i;
    }
  }
}

TEST_P(GoldenModel, hidden_states_of_the_last_position) {
  const auto& expected = golden_.json["hidden"];
  const auto count = static_cast<std::uint32_t>(golden_.tokens.size());
  TransformerRunner runner(model_.transformer, {.num_blocks = 5});
  runner.add(golden_.tokens, count);
  std::size_t seen = 0;
  runner.scratch().observer = [&](const Observation& observation) {
    const bool is_stored = observation.point == ForwardPoint::embedding ||
                           observation.point == ForwardPoint::layer ||
                           observation.point == ForwardPoint::final_norm;
    if (!is_stored) return;
    ASSERT_LT(seen, expected.size());
    const auto width = static_cast<std::size_t>(observation.width);
    const auto last = observation.values.last(width);
    ASSERT_EQ(width, expected[seen].size());
    for (std::size_t i = 0; i < width; ++i) {
      EXPECT_NEAR(last[i], expected[seen][i].get<double>(), golden_.tolerance())
          << name_of(observation.point) << " " << observation.layer.value_or(0);
    }
    ++seen;
  };
  runner.run({{0, 0, count}});
  EXPECT_EQ(seen, expected.size());
}

std::string variant_name(const ::testing::TestParamInfo<Variant>& info) {
  return testing::identifier(info.param.path);
}

TEST(GoldenModels, products_in_bf16_err_by_what_they_round) {
  const Golden golden("llama");
  const LoadedModel narrow(models("llama_bf16"));
  const auto rows = testing::logits_alone(narrow.transformer(), golden.tokens);
  double error = 0, size = 0, count = 0;
  for (std::size_t i = 0; i < golden.json["positions"].size(); ++i) {
    const Logits& row = rows[golden.json["positions"][i].get<std::size_t>()];
    for (std::size_t v = 0; v < row.size(); ++v, ++count) {
      const double expected = golden.json["logits"][i][v].get<double>();
      error += std::pow(row[v] - expected, 2);
      size += expected * expected;
    }
  }
  // Weights are exact; each of the 13 products on the way rounds activations by up to 2^-9 of
  // their size, and all these errors at once would add up to this.
  EXPECT_LT(std::sqrt(error / count), 13 * 0x1p-9 * std::sqrt(size / count));
  EXPECT_GT(error, 0);
}

TEST(GoldenModels, keys_and_values_by_heads_are_those_in_one_matrix_bit_by_bit) {
  const Golden golden("deepseek_v3");
  const LoadedModel whole(models("deepseek_v3"));
  const LoadedModel by_heads(models("deepseek_v3/model.gguf"));
  EXPECT_EQ(testing::logits_alone(by_heads.transformer(), golden.tokens),
            testing::logits_alone(whole.transformer(), golden.tokens));
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenModel, ::testing::ValuesIn(kVariants), variant_name);

}  // namespace
}  // namespace forge::model
