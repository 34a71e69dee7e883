// However a text is cut up and whatever is computed beside it, the engine's logits are those of the
// model as a textbook writes it (reference/tiny_transformer.h), but for the rounding of floats. How
// far that can take them follows from the text (reference/rounding_analysis.h), and it is little,
// less than 2^-10 of the spread between a row's largest and smallest logit.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "forge/reference/rounding_analysis.h"
#include "forge/reference/seeded_model.h"
#include "model/transformer_runner.h"
#include "reference/other_norms.h"
#include "schedule_scenario.h"

namespace forge::reference {
namespace {

using testing::draw;
using testing::Logits;
using testing::Piece;
using testing::some_tokens;

constexpr std::uint32_t kLongest = 48;

int draw_int(int low, int high) {
  return low + static_cast<int>(draw(0, static_cast<std::uint32_t>(high - low)));
}

TinyConfig random_shape() {
  TinyConfig c;
  c.vocabulary_size = draw_int(100, 200);  // letters, which are loud, among them
  c.hidden_size = draw_int(16, 64);
  c.layers = draw_int(1, 4);
  c.kv_heads = draw_int(1, 3);
  c.heads = c.kv_heads * draw_int(1, 3);
  c.head_size = 2 * draw_int(2, 10);
  c.ffn_size = draw_int(16, 100);
  c.rope_base = *rc::gen::element(100.0, 10000.0, 500000.0);
  c.norm_eps = *rc::gen::element(1e-6F, 1e-5F, 1e-3F);
  c.seed = draw(1, 1'000'000);
  return c;
}

/// The logits of all positions of the first sequence, computed in chunks of any size, together with
/// chunks of the others.
std::vector<Logits> in_random_chunks(const model::Transformer& engine,
                                     const std::vector<std::vector<TokenId>>& sequences) {
  const testing::RunSetup setup{
      .num_blocks = 4 * kLongest, .block_size = draw(1, 32), .threads = draw_int(1, 2)};
  testing::TransformerRunner runner(engine, setup);
  for (const auto& tokens : sequences) {
    runner.add(tokens, static_cast<std::uint32_t>(tokens.size()));
  }
  std::vector<std::uint32_t> done(sequences.size());
  std::vector<Logits> rows;
  while (rows.size() < sequences[0].size()) {
    std::vector<Piece> pieces;
    for (std::uint32_t s = 0; s < sequences.size(); ++s) {
      const auto left = static_cast<std::uint32_t>(sequences[s].size()) - done[s];
      const std::uint32_t count = draw(0, std::min(left, 20U));
      if (count > 0) pieces.push_back({s, done[s], count});
      done[s] += count;
    }
    if (pieces.empty()) continue;
    auto computed = runner.run(pieces);
    if (pieces[0].sequence == 0) {
      computed.resize(pieces[0].count);
      std::ranges::move(computed, std::back_inserter(rows));
    }
  }
  return rows;
}

/// How near the engine is to the bound, and the bound to what it must stay under.
struct Nearness {
  double to_bound = 0;   // largest |engine - exact| / bound
  double to_spread = 0;  // largest bound / (2^-10 spread)

  void see(const RoundingAnalysis& analysis, Eigen::Index row, Eigen::Index token, float logit) {
    const auto exact = analysis.logits().row(row);
    const double bound = analysis.logit_error(row, token);
    const double spread = exact.maxCoeff() - exact.minCoeff();
    to_bound = std::max(to_bound, std::abs(static_cast<double>(logit) - exact(token)) / bound);
    to_spread = std::max(to_spread, bound / (0x1p-10 * spread));
  }
};

std::ostream& operator<<(std::ostream& out, const Nearness& nearness) {
  return out << "largest error " << nearness.to_bound << " of its bound, largest bound "
             << nearness.to_spread << " of 2^-10 of the spread\n";
}

TEST(TextbookLogits, are_the_engine_s_but_for_rounding_whatever_the_schedule) {
  Nearness all;
  EXPECT_TRUE(rc::check("the engine's logits are within the bound", [&] {
    const TinyConfig config = random_shape();
    const Weights weights = testing::with_other_norms(seeded_weights(config));
    linear::ThreadPool threads(1);
    const auto engine = transformer_of(config, weights, threads);
    std::vector<std::vector<TokenId>> sequences(draw(1, 3));
    for (auto& tokens : sequences) {
      tokens = some_tokens(draw(1, kLongest), draw(1, 1'000'000), config.vocabulary_size);
    }
    const auto rows = in_random_chunks(engine, sequences);

    const TinyTransformer textbook(config, weights);
    const RoundingAnalysis analysis(textbook, sequences[0]);
    Nearness nearness;
    for (int i = 0; i < 24; ++i) {
      const auto row = draw(0, static_cast<std::uint32_t>(rows.size()) - 1);
      const auto token = draw(0, static_cast<std::uint32_t>(config.vocabulary_size) - 1);
      nearness.see(analysis, row, token, rows[row][token]);
    }
    RC_LOG() << nearness;
    all.to_bound = std::max(all.to_bound, nearness.to_bound);
    all.to_spread = std::max(all.to_spread, nearness.to_spread);
    RC_ASSERT(nearness.to_bound < 1);
    RC_ASSERT(nearness.to_spread < 1);
  }));
  std::cout << all;
}

/// Some logits of the last 300 rows of 600 tokens: up to three chunks of the softmax.
Nearness of_a_long_text(const TinyConfig& config) {
  const TinyTransformer textbook(config);
  linear::ThreadPool threads(1);
  const SeededModel engine(config, threads);
  const auto tokens = some_tokens(600, 11, config.vocabulary_size);
  const auto rows = testing::logits_alone(engine.transformer(), tokens);
  const RoundingAnalysis analysis(textbook, tokens);
  Nearness nearness;
  for (std::size_t i = 0; i < 10; ++i) {
    const std::size_t row = 599 - 33 * i;
    const std::size_t token = 7919 * (i + 1) % static_cast<std::size_t>(config.vocabulary_size);
    nearness.see(analysis, static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(token),
                 rows[row][token]);
  }
  std::cout << nearness;
  return nearness;
}

TEST(TextbookLogits, are_the_engine_s_but_for_rounding_in_a_long_text) {
  for (const TinyConfig& config : {TinyConfig{}, TinyConfig{.vocabulary_size = 37,
                                                 .hidden_size = 50,
                                                 .layers = 3,
                                                 .heads = 6,
                                                 .kv_heads = 2,
                                                 .head_size = 10,
                                                 .ffn_size = 70,
                                                 .rope_base = 500}}) {
    const Nearness nearness = of_a_long_text(config);
    EXPECT_LT(nearness.to_bound, 1);
    EXPECT_LT(nearness.to_spread, 1);
  }
}

}  // namespace
}  // namespace forge::reference
