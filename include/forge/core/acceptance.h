// Acceptance rules of speculative decoding: which drafts does the model keep?
//
// A draft model has proposed tokens d[0..k), and one forward pass of the model has given its view
// of k + 1 positions: after the known tokens, after d[0], ... after d[k-1]. The model keeps a
// prefix of the drafts and adds one token of its own.
//
//   drafts        d0    d1    d2              kept 2, own r
//   model      |  p0  |  p1  |  p2  |  p3     a kept draft never costs a forward pass of
//   verdict      keep   keep   no -> r        its own: that is the whole gain
//
//   rejection     Keep d with probability min(1, p(d) / q(d)); at the first draft that
//                 is not kept, draw from the normalized positive part of p - q. The
//                 output has exactly the model's distribution, whatever q is.
//                 Source: Leviathan, Kalman, Matias, "Fast Inference from Transformers
//                 via Speculative Decoding", ICML 2023, algorithm 1; Chen et al.,
//                 "Accelerating Large Language Model Decoding with Speculative
//                 Sampling", 2023, algorithm 2.
//   shared_noise  Each position has its own noise, which both models share; the
//                 model's pick is a function of (logits, noise) and a draft is kept
//                 when it equals that pick. The output is the very text that the model
//                 alone would produce, bit for bit.
//
// Greedy decoding is the case of one-hot p and q: both rules then keep d exactly when
// it is the model's argmax.
//
// Nothing here draws randomness: numbers in [0, 1) come in through callables, pure
// functions of a position. `Number` is double in production and an exact rational in
// the tests, which enumerate every draw (property_tests/speculation_exactness.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "forge/core/ids.h"

namespace forge {

enum class AcceptanceRule : std::uint8_t { shared_noise, rejection };

/// What a uniform draw is for. Draws of one position are independent across streams.
enum class DrawStream : std::uint32_t {
  draft = 1,   ///< the draft model chooses what to propose
  accept = 2,  ///< the model keeps the proposal, or not
  own = 3,     ///< the model's own token: replacement or bonus
};

/// Distributions over one vocabulary, one a row: values is [rows][vocabulary], borrowed.
template <class Number>
struct DistributionRows {
  std::span<const Number> values;
  std::size_t vocabulary = 0;

  std::span<const Number> operator[](std::size_t row) const {
    return values.subspan(row * vocabulary, vocabulary);
  }
};

/// What one verification yields: the first `accepted` drafts, then `own`. An accepted eos
/// ends the round, so there is no own token after it. If both are absent, the model has no token at
/// all, because its logits are not finite.
struct Verification {
  std::uint32_t accepted = 0;
  std::optional<TokenId> own;

  friend bool operator==(const Verification&, const Verification&) = default;
};

/// The counts of one round of drafts and their verdict, or their sums over several rounds.
struct SpeculationStatistics {
  std::uint64_t rounds = 0;    ///< forward passes of the model
  std::uint64_t proposed = 0;  ///< drafts verified
  std::uint64_t accepted = 0;  ///< drafts kept
  std::uint64_t emitted = 0;   ///< tokens added, drafts or own

  friend bool operator==(const SpeculationStatistics&, const SpeculationStatistics&) = default;
};

/// min(1, p / q), the probability that a draft is kept. q <= 0 cannot have been drawn
/// exactly; rounding can make it so, and then the draft is kept.
template <class Number>
Number acceptance_probability(const Number& p, const Number& q) {
  return q <= Number(0) || p >= q ? Number(1) : Number(p / q);
}

/// Inverse transform sampling: the first token whose cumulative weight exceeds u * total.
/// Weights need not sum to 1. Returns nothing if no weight is positive.
/// Requires: 0 <= u < 1; weight(token) >= 0 for each token < vocabulary.
template <class Number, class Weight>
std::optional<TokenId> draw_by_weight(std::size_t vocabulary, Weight weight, const Number& u) {
  Number total(0);
  for (std::size_t t = 0; t < vocabulary; ++t) total += weight(t);
  if (!(total > Number(0))) return std::nullopt;
  const Number threshold = u * total;
  Number cumulative(0);
  std::size_t token = 0;
  for (std::size_t t = 0; t < vocabulary && !(cumulative > threshold); ++t) {
    const Number w = weight(t);
    if (w > Number(0)) token = t;
    cumulative += w;
  }
  return TokenId(static_cast<std::uint32_t>(token));
}

/// A token drawn from the distribution `p`. Requires: some probability is positive.
template <class Number>
TokenId draw_from(std::span<const Number> p, const Number& u) {
  return draw_by_weight(
             p.size(), [p](std::size_t t) { return p[t]; }, u)
      .value();
}

/// A token drawn from the normalized positive part of p - q: what the model would have said and the
/// draft model said too rarely. If rounding has left no such part, it is drawn from p itself.
template <class Number>
TokenId draw_replacement(std::span<const Number> p, std::span<const Number> q, const Number& u) {
  const auto residual = [p, q](std::size_t t) {
    return p[t] > q[t] ? Number(p[t] - q[t]) : Number(0);
  };
  const auto token = draw_by_weight(p.size(), residual, u);
  return token ? *token : draw_from(p, u);
}

/// The verdict where the model has no token after the first `kept` drafts, all of which it has
/// kept, because its logits there are not finite. The last of them counts as its own, so that the
/// text goes as far as it would without drafts, and the next step meets those logits in its first
/// row.
inline Verification without_token(std::span<const TokenId> drafts, std::uint32_t kept) {
  if (kept == 0) return {};
  return {kept - 1, drafts[kept - 1]};
}

/// The rejection rule for k drafts.
/// model: its k + 1 rows; draft: k rows, row i is what drafts[i] was drawn from.
/// draw(i, stream): the uniform number in [0, 1) for the position of drafts[i] (i == k: the
/// bonus). It is called at most once for each (i, stream). ends(token): is it eos?
template <class Number, class Draw, class Ends>
Verification verify_by_rejection(std::span<const TokenId> drafts, DistributionRows<Number> model,
                                 DistributionRows<Number> draft, Draw draw, Ends ends) {
  for (std::uint32_t i = 0; i < drafts.size(); ++i) {
    const std::span<const Number> p = model[i];
    const std::span<const Number> q = draft[i];
    const TokenId token = drafts[i];
    const Number keep = acceptance_probability(p[token.value], q[token.value]);
    if (!(draw(i, DrawStream::accept) < keep)) {
      return {i, draw_replacement(p, q, draw(i, DrawStream::own))};
    }
    if (ends(token)) return {i + 1, std::nullopt};
  }
  const auto k = static_cast<std::uint32_t>(drafts.size());
  return {k, draw_from(model[k], draw(k, DrawStream::own))};
}

/// The shared_noise rule: pick(i) is the model's own pick at the position of drafts[i], given that
/// the drafts before it were kept. The first pick that differs is the replacement, pick(k) the
/// bonus. pick is called in order, and not beyond the first pick that differs or is none.
template <class Pick, class Ends>
Verification verify_by_picks(std::span<const TokenId> drafts, Pick pick, Ends ends) {
  for (std::uint32_t i = 0; i < drafts.size(); ++i) {
    const std::optional<TokenId> own = pick(i);
    if (!own) return without_token(drafts, i);
    if (*own != drafts[i]) return {i, own};
    if (ends(*own)) return {i + 1, std::nullopt};
  }
  const auto k = static_cast<std::uint32_t>(drafts.size());
  const std::optional<TokenId> bonus = pick(k);
  return bonus ? Verification{k, bonus} : without_token(drafts, k);
}

}  // namespace forge
