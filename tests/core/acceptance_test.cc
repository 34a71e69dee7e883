#include "forge/core/acceptance.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace forge {
namespace {

constexpr TokenId kA{0}, kB{1}, kC{2};
constexpr std::optional<TokenId> kNoEos;

/// Distributions over {a, b, c}, and draws written down by (position, stream). A draw that a
/// test did not provide for is an error: it shows what a rule looks at.
struct Round {
  std::vector<double> target;
  std::vector<double> draft;
  std::map<std::pair<std::uint32_t, DrawStream>, double> draws;

  Verification verify(const std::vector<TokenId>& drafts, std::optional<TokenId> eos = kNoEos) {
    const auto draw = [this](std::uint32_t i, DrawStream stream) { return draws.at({i, stream}); };
    return verify_by_rejection<double>(drafts, {target, 3}, {draft, 3}, draw,
                                       [&](TokenId token) { return token == eos; });
  }
};

Verification verify_picks(const std::vector<TokenId>& drafts, const std::vector<TokenId>& picks,
                          std::optional<TokenId> eos) {
  return verify_by_picks(
      drafts, [&](std::uint32_t i) { return picks.at(i); },
      [&](TokenId token) { return token == eos; });
}

constexpr auto kAccept = DrawStream::accept;
constexpr auto kOwn = DrawStream::own;

TEST(Acceptance, acceptance_probability_is_the_ratio_clamped_to_one) {
  EXPECT_EQ(acceptance_probability(0.25, 0.5), 0.5);
  EXPECT_EQ(acceptance_probability(0.5, 0.25), 1.0);
  EXPECT_EQ(acceptance_probability(0.0, 0.5), 0.0);
}

TEST(Acceptance, a_draft_of_probability_zero_is_clamped_to_accepted) {
  EXPECT_EQ(acceptance_probability(0.25, 0.0), 1.0);
  EXPECT_EQ(acceptance_probability(0.0, 0.0), 1.0);
  EXPECT_EQ(acceptance_probability(0.25, -1e-9), 1.0);
}

TEST(Acceptance, a_draft_is_kept_below_the_acceptance_probability_and_not_at_it) {
  Round round{{0.25, 0.75, 0, 1, 0, 0}, {0.5, 0.5, 0}, {}};
  round.draws = {{{0, kAccept}, 0.49}, {{1, kOwn}, 0}};
  EXPECT_EQ(round.verify({kA}), (Verification{1, kA}));
  round.draws = {{{0, kAccept}, 0.5}, {{0, kOwn}, 0}};
  EXPECT_EQ(round.verify({kA}), (Verification{0, kB}));
}

TEST(Acceptance, rejection_falls_back_to_a_target_token) {
  // p - q = (-1/4, 1/8, 1/8): the replacement is b or c with probability 1/2 each, never a.
  Round round{{0.25, 0.375, 0.375, 1, 0, 0}, {0.5, 0.25, 0.25}, {}};
  for (const auto& [u, expected] : {std::pair{0.0, kB}, {0.49, kB}, {0.5, kC}, {0.99, kC}}) {
    round.draws = {{{0, kAccept}, 0.9}, {{0, kOwn}, u}};
    EXPECT_EQ(round.verify({kA}), (Verification{0, expected})) << u;
  }
}

TEST(Acceptance, a_fully_accepted_run_yields_the_bonus_token_of_the_last_row) {
  Round round{{1, 0, 0, 0, 1, 0, 0.25, 0.25, 0.5}, {1, 0, 0, 0, 1, 0}, {}};
  for (const auto& [u, bonus] : {std::pair{0.2, kA}, {0.3, kB}, {0.9, kC}}) {
    round.draws = {{{0, kAccept}, 0.9}, {{1, kAccept}, 0.9}, {{2, kOwn}, u}};
    EXPECT_EQ(round.verify({kA, kB}), (Verification{2, bonus})) << u;
  }
}

TEST(Acceptance, without_drafts_the_token_is_the_targets_own) {
  Round round{{0.5, 0, 0.5}, {}, {{{0, kOwn}, 0.5}}};
  EXPECT_EQ(round.verify({}), (Verification{0, kC}));
}

TEST(Acceptance, an_accepted_eos_ends_the_round_without_a_token_of_its_own) {
  Round round{{1, 0, 0, 1, 0, 0, 1, 0, 0}, {1, 0, 0, 1, 0, 0}, {{{0, kAccept}, 0}}};
  EXPECT_EQ(round.verify({kA, kA}, kA), (Verification{1, std::nullopt}));
}

TEST(Acceptance, drafts_after_a_rejection_are_discarded_unseen) {
  // Draft 1 would be accepted for certain; no draw is provided for it, so none is taken.
  Round round{{0, 1, 0, 1, 0, 0, 1, 0, 0}, {1, 0, 0, 1, 0, 0}, {{{0, kAccept}, 0}, {{0, kOwn}, 0}}};
  EXPECT_EQ(round.verify({kA, kA}), (Verification{0, kB}));
}

TEST(Acceptance, a_residual_lost_to_rounding_falls_back_to_the_target) {
  const std::vector<double> p{0.25, 0.5, 0}, q{0.25, 0.5, 0.25};
  EXPECT_EQ(draw_replacement<double>(p, q, 0.4), kB);
}

TEST(Acceptance, a_draw_picks_only_tokens_of_positive_weight) {
  const std::vector<double> p{0, 0.5, 0, 0.5, 0};
  EXPECT_EQ(draw_from<double>(p, 0.0), TokenId(1));
  EXPECT_EQ(draw_from<double>(p, 0.5), TokenId(3));
  EXPECT_EQ(draw_from<double>(p, 1.0), TokenId(3));  // u rounded up to 1
}

TEST(Acceptance, a_draft_that_equals_the_targets_pick_is_kept) {
  EXPECT_EQ(verify_picks({kA, kB}, {kA, kB, kC}, kNoEos), (Verification{2, kC}));
}

TEST(Acceptance, the_first_pick_that_differs_replaces_the_draft_and_discards_the_rest) {
  EXPECT_EQ(verify_picks({kA, kB, kC}, {kA, kC, kC, kA}, kNoEos), (Verification{1, kC}));
}

TEST(Acceptance, picks_after_the_first_that_differs_are_not_asked_for) {
  EXPECT_EQ(verify_picks({kA, kB, kC}, {kB}, kNoEos), (Verification{0, kB}));
}

TEST(Acceptance, an_eos_that_is_picked_and_drafted_ends_the_round) {
  EXPECT_EQ(verify_picks({kA, kB, kC}, {kA, kB, kC, kA}, kB), (Verification{2, std::nullopt}));
}

TEST(Acceptance, an_eos_that_replaces_a_draft_is_the_own_token) {
  EXPECT_EQ(verify_picks({kA}, {kB, kA}, kB), (Verification{0, kB}));
}

TEST(Acceptance, where_the_target_has_no_token_the_drafts_before_it_count) {
  const auto verdict = [](const std::vector<std::optional<TokenId>>& picks) {
    const std::vector<TokenId> drafts{kA, kB, kC};
    return verify_by_picks(
        drafts, [&](std::uint32_t i) { return picks.at(i); }, [](TokenId) { return false; });
  };
  EXPECT_EQ(verdict({std::nullopt}), (Verification{0, std::nullopt}));
  EXPECT_EQ(verdict({kA, std::nullopt}), (Verification{0, kA}));
  EXPECT_EQ(verdict({kA, kB, kC, std::nullopt}), (Verification{2, kC}));
  EXPECT_EQ(verdict({kA, kA, std::nullopt}), (Verification{1, kA}))
      << "after a rejection it is moot";
}

}  // namespace
}  // namespace forge
