#include "checkpoint/golden_logits.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/stored_weights.h"
#include "model/transformer_runner.h"

namespace forge::testing {

double golden_tolerance(const nlohmann::json& golden) {
  return 4 * golden["float32_error"].get<double>();
}

void expect_golden_logits(const checkpoint::Checkpoint& checkpoint, const nlohmann::json& golden) {
  StoredWeights weights;
  linear::ThreadPool threads(1);
  const model::StoredModel floats = weights.converted(checkpoint.model(), quant::WeightType::f32);
  const model::Transformer transformer(checkpoint.config(),
                                       pack(checkpoint.config(), floats, threads).value());
  std::vector<TokenId> tokens;
  for (const auto& token : golden["tokens"]) tokens.emplace_back(token.get<std::uint32_t>());
  const std::vector<Logits> rows = logits_alone(transformer, tokens);
  const double tolerance = golden_tolerance(golden);
  ASSERT_FALSE(golden["positions"].empty());
  for (std::size_t i = 0; i < golden["positions"].size(); ++i) {
    const Logits& row = rows[golden["positions"][i].get<std::size_t>()];
    ASSERT_EQ(row.size(), golden["logits"][i].size());
    for (std::size_t v = 0; v < row.size(); ++v) {
      ASSERT_NEAR(row[v], golden["logits"][i][v].get<double>(), tolerance) << i << ", " << v;
    }
  }
  for (std::size_t position = 0; position < rows.size(); ++position) {
    EXPECT_EQ(argmax(rows[position]), golden["argmax"][position].get<std::uint32_t>()) << position;
  }
}

}  // namespace forge::testing
