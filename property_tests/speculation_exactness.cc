// Speculative sampling is exact: enumerated, in rational arithmetic, for equality.
//
// Draft and target are random tables of rational distributions, a row for each last token.
// Every sequence of draws of a round is run through the production code, with an exact
// rational as its number type. The draws of one kind lie on a grid fine enough that every
// threshold falls on a grid point; so a grid point stands for its whole cell, and the
// enumeration is the exact distribution of the output, compared with the model's by ==.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <boost/rational.hpp>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "forge/reference/speculative_decoder.h"

namespace forge::reference {
namespace {

using Rational = boost::rational<std::int64_t>;
using Row = std::vector<Rational>;
using Tokens = std::vector<TokenId>;
using Distribution = std::map<Tokens, Rational>;

/// The next token's distribution depends on the last token. Row t follows token t.
struct Bigrams {
  std::vector<Row> rows;

  std::size_t vocabulary() const { return rows.size(); }

  void forward(std::span<const TokenId> tokens, std::span<Rational> out) const {
    const std::size_t count = out.size() / vocabulary();
    for (std::size_t i = 0; i < count; ++i) {
      const Row& row = rows[tokens[tokens.size() - count + i].value];
      std::copy(row.begin(), row.end(), out.begin() + static_cast<std::ptrdiff_t>(i * row.size()));
    }
  }
};

/// The points of the grid on which draws of each stream lie.
struct Grid {
  std::int64_t draft = 1;
  std::int64_t accept = 1;
  std::int64_t own = 1;

  std::int64_t points(DrawStream stream) const {
    return stream == DrawStream::draft ? draft : stream == DrawStream::accept ? accept : own;
  }
};

/// Enumerates all runs of a computation that draws: an odometer whose wheels are the draws
/// in the order in which they are asked for.
class AllDraws {
 public:
  explicit AllDraws(Grid grid) : grid_(grid) {}

  Rational uniform(std::uint64_t, DrawStream stream) const {
    if (next_ == wheels_.size()) wheels_.push_back({0, grid_.points(stream)});
    const Wheel& wheel = wheels_[next_++];
    return {wheel.value, wheel.points};
  }
  TokenId pick(std::span<const Rational>, std::uint64_t) const { return {}; }

  /// The share of all draws that the last run stands for.
  Rational weight() const {
    std::int64_t product = 1;
    for (const Wheel& wheel : wheels_) product *= wheel.points;
    return {1, product};
  }

  /// Turns to the next run. Returns false after the last.
  bool advance() {
    next_ = 0;
    while (!wheels_.empty() && ++wheels_.back().value == wheels_.back().points) wheels_.pop_back();
    return !wheels_.empty();
  }

 private:
  struct Wheel {
    std::int64_t value;
    std::int64_t points;
  };
  Grid grid_;
  mutable std::vector<Wheel> wheels_;
  mutable std::size_t next_ = 0;
};

/// Spreads `weight` over all continuations of `tokens` to `length` by the model itself; eos ends.
void complete(const Bigrams& target, std::optional<TokenId> eos, std::size_t length,
              std::pair<Tokens, Rational> start, Distribution& out) {
  auto& [tokens, weight] = start;
  if (tokens.size() == length || (tokens.size() > 1 && tokens.back() == eos)) {
    out[tokens] += weight;
    return;
  }
  const Row& row = target.rows[tokens.back().value];
  for (std::uint32_t t = 0; t < row.size(); ++t) {
    if (row[t] == 0) continue;
    Tokens longer = tokens;
    longer.emplace_back(t);
    complete(target, eos, length, {longer, weight * row[t]}, out);
  }
}

/// Distribution of the k + 1 tokens after token 0 when the model decodes alone.
Distribution plain(const Bigrams& target, std::uint32_t k, std::optional<TokenId> eos) {
  Distribution out;
  complete(target, eos, k + 2, {{TokenId(0)}, Rational(1)}, out);
  return out;
}

/// The same when a speculative round comes first, over all its draws.
Distribution speculative(Bigrams draft, Bigrams target, const SpeculationConfig& config,
                         Grid grid) {
  AllDraws draws(grid);
  SpeculativeDecoder<Rational, Bigrams, Bigrams, AllDraws> decoder(draft, target, draws, config);
  std::map<Tokens, Rational> rounds;
  do {
    Tokens tokens{TokenId(0)};
    decoder.round(tokens, config.drafts + 1);
    rounds[tokens] += draws.weight();
  } while (draws.advance());
  Distribution out;
  for (const auto& round : rounds) complete(target, config.eos, config.drafts + 2, round, out);
  return out;
}

/// Uniform in [lowest, end) at every size; a plain inRange keeps the first cases tiny.
template <class Integer>
Integer between(Integer lowest, Integer end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Integer>(lowest, end));
}

/// `units` times 1 / m, thrown onto `vocabulary` tokens; a distribution if units is m.
Row random_row(std::size_t vocabulary, std::int64_t units, std::int64_t m) {
  Row row(vocabulary, Rational(0));
  for (std::int64_t i = 0; i < units; ++i) {
    row[between<std::size_t>(0, vocabulary)] += Rational(1, m);
  }
  return row;
}

Bigrams random_bigrams(std::size_t vocabulary, std::int64_t m) {
  Bigrams model;
  for (std::size_t t = 0; t < vocabulary; ++t) model.rows.push_back(random_row(vocabulary, m, m));
  return model;
}

/// The coarsest grid that holds every threshold of these tables.
Grid grid_for(const Bigrams& draft, const Bigrams& target, std::int64_t m) {
  Grid grid{.draft = m, .own = m};
  for (std::size_t row = 0; row < target.vocabulary(); ++row) {
    const Row& p = target.rows[row];
    const Row& q = draft.rows[row];
    Rational residual(0);
    for (std::size_t t = 0; t < p.size(); ++t) {
      grid.accept = std::lcm(grid.accept, acceptance_probability(p[t], q[t]).denominator());
      if (p[t] > q[t]) residual += p[t] - q[t];
    }
    for (std::size_t t = 0; t < p.size() && residual > 0; ++t) {
      if (p[t] > q[t]) grid.own = std::lcm(grid.own, ((p[t] - q[t]) / residual).denominator());
    }
  }
  return grid;
}

std::optional<TokenId> random_eos(std::size_t vocabulary) {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  return TokenId(between<std::uint32_t>(0, static_cast<std::uint32_t>(vocabulary)));
}

RC_GTEST_PROP(SpeculationExactness, one_draft_leaves_the_targets_distribution_unchanged, ()) {
  const auto vocabulary = between<std::size_t>(2, 5);
  const auto m = between<std::int64_t>(1, 7);
  const Bigrams draft = random_bigrams(vocabulary, m);
  const Bigrams target = random_bigrams(vocabulary, m);
  const auto eos = random_eos(vocabulary);
  // lcm(1 .. 6): every ratio of two probabilities, and every part of a residual, is on it.
  const Grid grid{.draft = m, .accept = 60, .own = 60};
  const SpeculationConfig config{.drafts = 1, .rule = AcceptanceRule::rejection, .eos = eos};
  RC_ASSERT(speculative(draft, target, config, grid) == plain(target, 1, eos));
}

RC_GTEST_PROP(SpeculationExactness, two_drafts_leave_the_targets_distribution_unchanged, ()) {
  const auto vocabulary = between<std::size_t>(2, 5);
  const auto m = between<std::int64_t>(1, 7);
  const Bigrams draft = random_bigrams(vocabulary, m);
  const Bigrams target = random_bigrams(vocabulary, m);
  const auto eos = random_eos(vocabulary);
  const Grid grid = grid_for(draft, target, m);
  RC_PRE(grid.draft * grid.draft * grid.accept * grid.accept * grid.own <= 1'000'000);
  const SpeculationConfig config{.drafts = 2, .rule = AcceptanceRule::rejection, .eos = eos};
  RC_ASSERT(speculative(draft, target, config, grid) == plain(target, 2, eos));
}

/// The tempting mistake: one draft, and on rejection a token drawn from p itself.
Row biased_first_token(const Row& p, const Row& q) {
  Row out(p.size(), Rational(0));
  Rational rejected(0);
  for (std::size_t t = 0; t < p.size(); ++t) {
    const Rational kept = q[t] * acceptance_probability(p[t], q[t]);
    out[t] += kept;
    rejected += q[t] - kept;
  }
  for (std::size_t t = 0; t < p.size(); ++t) out[t] += rejected * p[t];
  return out;
}

RC_GTEST_PROP(SpeculationExactness, replacing_from_the_target_itself_is_biased_unless_q_is_p, ()) {
  const auto vocabulary = between<std::size_t>(2, 5);
  const auto m = between<std::int64_t>(static_cast<std::int64_t>(vocabulary), 7);
  // Every token has p > 0: where p is one-hot (greedy), p itself is the right replacement.
  Row p = random_row(vocabulary, m - static_cast<std::int64_t>(vocabulary), m);
  for (Rational& x : p) x += Rational(1, m);
  const Row q = random_row(vocabulary, m, m);
  RC_ASSERT((biased_first_token(p, q) == p) == (q == p));
}

/// Picks by a table of noise: a pure function of row and position.
struct NoiseDraws {
  std::vector<Rational> noise;

  Rational uniform(std::uint64_t, DrawStream) const { return 0; }
  TokenId pick(std::span<const Rational> row, std::uint64_t position) const {
    return draw_from(row, noise[position]);
  }
};

RC_GTEST_PROP(SpeculationExactness, shared_noise_gives_the_targets_own_text_for_any_draft, ()) {
  constexpr std::size_t kTokens = 12;
  const auto vocabulary = between<std::size_t>(2, 5);
  const auto m = between<std::int64_t>(1, 7);
  Bigrams draft = random_bigrams(vocabulary, m);
  Bigrams target = random_bigrams(vocabulary, m);
  NoiseDraws draws;
  for (std::size_t i = 0; i <= kTokens; ++i) {
    draws.noise.emplace_back(between<std::int64_t>(0, 60), 60);
  }
  const auto eos = random_eos(vocabulary);
  const auto decode = [&](std::uint32_t k) {
    SpeculativeDecoder<Rational, Bigrams, Bigrams, NoiseDraws> decoder(
        draft, target, draws, {.drafts = k, .rule = AcceptanceRule::shared_noise, .eos = eos});
    return decoder.generate({TokenId(0)}, kTokens);
  };
  const Tokens alone = decode(0);
  for (std::uint32_t k = 1; k <= 3; ++k) RC_ASSERT(decode(k) == alone);
}

}  // namespace
}  // namespace forge::reference
