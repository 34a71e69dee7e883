// SpeculativeDecoder: the technique for one sequence, in one page.
//
//   round:   draft   d0 <- q(. | x)   d1 <- q(. | x d0)   ...   k small forwards
//            model   p(. | x)   p(. | x d0)   ...               one forward of k + 1 rows
//            rule    keeps a prefix of the drafts, adds one token of its own
//
// The gain: a forward of the model costs nearly the same for k + 1 rows as for one,
// because it is bound by reading the weights.
//
// This is the reference: two abstract distributions, no cache, no batch. The targets
// use the same acceptance rules (core/acceptance.h) on their batches; that header names the
// sources.
//
// A round adds 1 .. k + 1 tokens. eos ends it, wherever it appears.
//
// Borrows both models and the draws. Thread contract: none of its own.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "forge/core/acceptance.h"
#include "forge/core/ids.h"

namespace forge::reference {

/// A distribution of the next token, for several prefixes in one forward pass: `rows` is
/// [n][vocabulary()]; row i belongs to the token after the first tokens.size() - n + 1 + i
/// of `tokens`, so that the last row belongs to the token after all of them.
template <class Model, class Number>
concept LanguageModel = requires(Model& model, std::span<const TokenId> tokens,
                                 std::span<Number> rows) {
  { model.vocabulary() } -> std::convertible_to<std::size_t>;
  model.forward(tokens, rows);
};

/// The randomness of one request, pure functions of the position of the token (its index
/// in prompt and output): a number in [0, 1), and for shared_noise the pick from a row.
template <class Draws, class Number>
concept DrawSource = requires(const Draws& draws, std::uint64_t position, DrawStream stream,
                              std::span<const Number> row) {
  { draws.uniform(position, stream) } -> std::convertible_to<Number>;
  { draws.pick(row, position) } -> std::convertible_to<TokenId>;
};

struct SpeculationConfig {
  std::uint32_t drafts = 4;  ///< k; 0 is plain decoding
  AcceptanceRule rule = AcceptanceRule::shared_noise;
  std::optional<TokenId> eos = std::nullopt;
};

template <class Number, LanguageModel<Number> Draft, LanguageModel<Number> Model,
          DrawSource<Number> Draws>
class SpeculativeDecoder {
 public:
  /// Requires: both models have one vocabulary and outlive the decoder, as do the draws.
  SpeculativeDecoder(Draft& draft, Model& model, const Draws& draws, SpeculationConfig config)
      : draft_(draft), model_(model), draws_(draws), config_(config) {}

  /// One round: appends 1 .. min(drafts + 1, budget) tokens to `tokens`.
  /// Requires: tokens is not empty, budget >= 1.
  void round(std::vector<TokenId>& tokens, std::size_t budget) {
    const std::size_t known = tokens.size();
    const std::size_t k = std::min<std::size_t>(config_.drafts, budget - 1);
    propose(tokens, k);
    verify(tokens, known);
  }

  /// Decodes until `max_new_tokens` or eos. Returns: prompt and output.
  std::vector<TokenId> generate(std::vector<TokenId> tokens, std::size_t max_new_tokens) {
    const std::size_t end = tokens.size() + max_new_tokens;
    while (tokens.size() < end) {
      round(tokens, end - tokens.size());
      if (tokens.back() == config_.eos) break;
    }
    return tokens;
  }

  const SpeculationStatistics& statistics() const { return statistics_; }

 private:
  void propose(std::vector<TokenId>& tokens, std::size_t k) {
    const std::size_t vocabulary = model_.vocabulary();
    q_.resize(k * vocabulary);
    for (std::size_t i = 0; i < k; ++i) {
      const std::span<Number> row = std::span(q_).subspan(i * vocabulary, vocabulary);
      draft_.forward(std::span<const TokenId>(tokens), row);
      const std::span<const Number> q = row;
      const std::uint64_t position = tokens.size();
      tokens.push_back(config_.rule == AcceptanceRule::shared_noise
                           ? draws_.pick(q, position)
                           : draw_from<Number>(q, draws_.uniform(position, DrawStream::draft)));
    }
  }

  /// Keeps what the model accepts of tokens[known, end) and appends its own token.
  void verify(std::vector<TokenId>& tokens, std::size_t known) {
    const std::size_t k = tokens.size() - known;
    p_.resize((k + 1) * model_.vocabulary());
    model_.forward(std::span<const TokenId>(tokens), std::span(p_));
    const Verification verdict = judge(std::span<const TokenId>(tokens).subspan(known), known);
    tokens.resize(known + verdict.accepted);
    if (verdict.own) tokens.push_back(*verdict.own);
    statistics_.rounds += 1;
    statistics_.proposed += k;
    statistics_.accepted += verdict.accepted;
    statistics_.emitted += tokens.size() - known;
  }

  Verification judge(std::span<const TokenId> drafts, std::uint64_t known) {
    const DistributionRows<Number> p{p_, model_.vocabulary()};
    const auto ends = [&](TokenId token) { return token == config_.eos; };
    if (config_.rule == AcceptanceRule::rejection) {
      const auto draw = [&](std::uint32_t i, DrawStream stream) -> Number {
        return draws_.uniform(known + i, stream);
      };
      return verify_by_rejection<Number>(drafts, p, {q_, model_.vocabulary()}, draw, ends);
    }
    const auto pick = [&](std::uint32_t i) -> TokenId { return draws_.pick(p[i], known + i); };
    return verify_by_picks(drafts, pick, ends);
  }

  Draft& draft_;
  Model& model_;
  const Draws& draws_;
  SpeculationConfig config_;
  SpeculationStatistics statistics_;
  std::vector<Number> q_;  // [drafts][vocabulary]
  std::vector<Number> p_;  // [drafts + 1][vocabulary]
};

}  // namespace forge::reference
