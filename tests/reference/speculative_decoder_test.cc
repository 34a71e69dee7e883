#include "forge/reference/speculative_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace forge::reference {
namespace {

constexpr std::size_t kVocabulary = 5;

/// A number in [0, 1) that depends on all arguments (the finaliser of MurmurHash3).
double scramble(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t h = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu + 1;
  for (int i = 0; i < 2; ++i) {
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
  }
  return static_cast<double>(h >> 11) * 0x1p-53;
}

/// A model whose next token depends on the last two tokens, by seed; one-hot or not.
struct TableModel {
  std::uint64_t seed = 0;
  bool greedy = false;
  int forwards = 0;

  std::size_t vocabulary() const { return kVocabulary; }

  void forward(std::span<const TokenId> tokens, std::span<double> rows) {
    ++forwards;
    const std::size_t count = rows.size() / kVocabulary;
    for (std::size_t i = 0; i < count; ++i) {
      const auto prefix = tokens.first(tokens.size() - count + 1 + i);
      fill(prefix, rows.subspan(i * kVocabulary, kVocabulary));
    }
  }

  void fill(std::span<const TokenId> prefix, std::span<double> row) const {
    const std::uint64_t last = prefix.back().value;
    const std::uint64_t before = prefix.size() > 1 ? prefix[prefix.size() - 2].value : kVocabulary;
    double total = 0;
    for (std::size_t t = 0; t < kVocabulary; ++t) {
      total += row[t] = scramble(seed, last * 8 + before, t);
    }
    for (double& p : row) p /= total;
    if (!greedy) return;
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    std::fill(row.begin(), row.end(), 0.0);
    row[static_cast<std::size_t>(best)] = 1.0;
  }
};

struct SeededDraws {
  std::uint64_t seed = 0;

  double uniform(std::uint64_t position, DrawStream stream) const {
    return scramble(seed, position, static_cast<std::uint64_t>(stream));
  }
  /// Inverse transform with one noise a position: a pick as good as any for shared noise.
  TokenId pick(std::span<const double> row, std::uint64_t position) const {
    return draw_from(row, scramble(seed, position, 0));
  }
};

struct Outcome {
  std::vector<TokenId> tokens;
  SpeculationStatistics statistics;
};

Outcome decode(TableModel draft, TableModel target, SpeculationConfig config,
               std::size_t max_new_tokens = 60, std::uint64_t seed = 7) {
  const SeededDraws draws{seed};
  SpeculativeDecoder<double, TableModel, TableModel, SeededDraws> decoder(draft, target, draws,
                                                                          config);
  return {decoder.generate({TokenId(1)}, max_new_tokens), decoder.statistics()};
}

constexpr AcceptanceRule kBothRules[] = {AcceptanceRule::shared_noise, AcceptanceRule::rejection};

TEST(SpeculativeDecoder, speculative_output_matches_plain_target_decoding) {
  const TableModel target{.seed = 3};
  const auto plain = decode({}, target, {.drafts = 0}).tokens;
  for (std::uint64_t draft_seed = 0; draft_seed < 20; ++draft_seed) {
    for (std::uint32_t k = 1; k <= 5; ++k) {
      EXPECT_EQ(decode({.seed = draft_seed}, target, {.drafts = k}).tokens, plain);
    }
  }
}

TEST(SpeculativeDecoder, greedy_output_is_plain_greedy_output_under_both_rules_for_any_draft) {
  const TableModel target{.seed = 3, .greedy = true};
  const auto plain = decode({}, target, {.drafts = 0}).tokens;
  for (const AcceptanceRule rule : kBothRules) {
    for (std::uint64_t draft_seed = 0; draft_seed < 20; ++draft_seed) {
      const TableModel draft{.seed = draft_seed, .greedy = true};
      EXPECT_EQ(decode(draft, target, {.drafts = 3, .rule = rule}).tokens, plain);
    }
  }
}

TEST(SpeculativeDecoder, a_perfect_draft_is_accepted_whole) {
  for (const AcceptanceRule rule : kBothRules) {
    const TableModel model{.seed = 3};
    const auto outcome = decode(model, model, {.drafts = 4, .rule = rule}, 50);
    if (rule == AcceptanceRule::shared_noise) {
      EXPECT_EQ(outcome.statistics, (SpeculationStatistics{10, 40, 40, 50}));
    } else {
      EXPECT_EQ(outcome.statistics.accepted, outcome.statistics.proposed);
    }
  }
}

TEST(SpeculativeDecoder, a_draft_that_is_always_wrong_costs_rounds_and_changes_nothing) {
  struct Wrong : TableModel {
    void forward(std::span<const TokenId> tokens, std::span<double> rows) {
      TableModel::forward(tokens, rows);
      std::rotate(rows.begin(), rows.begin() + 1, rows.end());
    }
  };
  TableModel target{.seed = 3, .greedy = true};
  Wrong draft{target};
  const SeededDraws draws;
  SpeculativeDecoder<double, Wrong, TableModel, SeededDraws> decoder(
      draft, target, draws, {.drafts = 2, .rule = AcceptanceRule::rejection});
  const auto tokens = decoder.generate({TokenId(1)}, 20);
  EXPECT_EQ(tokens, decode({}, target, {.drafts = 0}, 20).tokens);
  EXPECT_EQ(decoder.statistics().rounds, 20);
  EXPECT_EQ(decoder.statistics().accepted, 0);
}

TEST(SpeculativeDecoder, k_drafts_cost_one_forward_of_the_target) {
  TableModel draft{.seed = 1};
  TableModel target{.seed = 3};
  const SeededDraws draws;
  SpeculativeDecoder<double, TableModel, TableModel, SeededDraws> decoder(draft, target, draws,
                                                                          {.drafts = 4});
  std::vector<TokenId> tokens{TokenId(1)};
  decoder.round(tokens, 100);
  EXPECT_EQ(draft.forwards, 4);
  EXPECT_EQ(target.forwards, 1);
}

TEST(SpeculativeDecoder, eos_inside_a_round_ends_the_output) {
  const TableModel target{.seed = 3};
  for (const AcceptanceRule rule : kBothRules) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const SpeculationConfig config{.drafts = 4, .rule = rule, .eos = TokenId(2)};
      const auto tokens = decode(target, target, config, 60, seed).tokens;
      const auto eos = std::find(tokens.begin(), tokens.end(), TokenId(2));
      ASSERT_NE(eos, tokens.end());
      EXPECT_EQ(eos, tokens.end() - 1);
    }
  }
}

TEST(SpeculativeDecoder, output_never_exceeds_the_budget) {
  const TableModel model{.seed = 3};
  for (const AcceptanceRule rule : kBothRules) {
    for (std::size_t budget = 1; budget <= 12; ++budget) {
      EXPECT_EQ(decode(model, model, {.drafts = 4, .rule = rule}, budget).tokens.size(),
                1 + budget);
    }
  }
}

TEST(SpeculativeDecoder, a_draft_nearer_to_the_target_is_accepted_more_often) {
  /// The target's distribution mixed with uniform noise.
  struct Blurred : TableModel {
    double noise = 0;
    void forward(std::span<const TokenId> tokens, std::span<double> rows) {
      TableModel::forward(tokens, rows);
      for (double& p : rows) p = (1 - noise) * p + noise / kVocabulary;
    }
  };
  for (const AcceptanceRule rule : kBothRules) {
    double previous = 1.1;
    for (const double noise : {0.0, 0.5, 1.0}) {
      TableModel target{.seed = 3};
      Blurred draft{target, noise};
      const SeededDraws draws;
      SpeculativeDecoder<double, Blurred, TableModel, SeededDraws> decoder(
          draft, target, draws, {.drafts = 3, .rule = rule});
      decoder.generate({TokenId(1)}, 3000);
      const auto& s = decoder.statistics();
      const double rate = static_cast<double>(s.accepted) / static_cast<double>(s.proposed);
      EXPECT_LT(rate, previous);
      previous = rate;
    }
  }
}

}  // namespace
}  // namespace forge::reference
