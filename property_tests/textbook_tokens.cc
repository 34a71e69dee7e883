// The engine's tokens are those of two pages: SpeculativeDecoder over TinyTransformer
// (reference/speculative_decoder.h, tiny_transformer.h), one sequence, no cache, no batch, all in
// double.
//
// The two may part only where rounding can decide: where the best token leads the next by no more
// than what RoundingAnalysis allows the lead to be off. Such decisions are counted; they are rare.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <vector>

#include "forge/cpu/cpu_executor.h"
#include "forge/reference/rounding_analysis.h"
#include "forge/reference/speculative_decoder.h"
#include "forge/sampling/gumbel.h"
#include "forge/sampling/sampler.h"
#include "model/pieces.h"
#include "schedule_scenario.h"

namespace forge::reference {
namespace {

using testing::draw;
using testing::one_in;

// ---- The textbook ---------------------------------------------------------------------

/// The first layers of TinyTransformer as SpeculativeDecoder takes a model; logits for
/// probabilities, since all it does with them is to pick().
struct LayersOf {
  const TinyTransformer& model;
  int layers;

  std::size_t vocabulary() const {
    return static_cast<std::size_t>(model.config().vocabulary_size);
  }
  void forward(std::span<const TokenId> tokens, std::span<double> rows) const {
    const auto V = static_cast<Eigen::Index>(vocabulary());
    const auto count = static_cast<Eigen::Index>(rows.size()) / V;
    Eigen::Map<Rows>(rows.data(), count, V) = model.logits(tokens, layers).bottomRows(count);
  }
};

/// sampler.h in double: a token's score is its logit, or logit / temperature + noise.
struct Scores {
  SamplingParams params;

  double of(double logit, std::uint32_t token, std::uint64_t position) const {
    if (params.temperature == 0) return logit;
    const sampling::GumbelDraw noise{params.seed, position, params.temperature, 0};
    return logit / static_cast<double>(params.temperature) +
           static_cast<double>(noise.top_score(token));
  }
  double uniform(std::uint64_t position, DrawStream stream) const {
    return sampling::uniform(params.seed, position, stream);
  }
  TokenId pick(std::span<const double> logits, std::uint64_t position) const {
    std::vector<double> scores;
    for (const double logit : logits) {
      scores.push_back(of(logit, static_cast<std::uint32_t>(scores.size()), position));
    }
    return TokenId(static_cast<std::uint32_t>(std::ranges::max_element(scores) - scores.begin()));
  }
};

// ---- How sure it is -------------------------------------------------------------------

struct Decision {
  double lead = 0;   ///< of the best score over the next
  double error = 0;  ///< by which rounding may change it

  bool is_certain() const { return lead > error; }
};

/// The choice of the token after row `row`.
Decision decision_at(const RoundingAnalysis& analysis, Eigen::Index row, const Scores& scores) {
  const auto position = static_cast<std::uint64_t>(row) + 1;
  const auto logits = analysis.logits().row(row);
  std::vector<std::pair<double, Eigen::Index>> ranking;
  for (Eigen::Index v = 0; v < logits.size(); ++v) {
    ranking.emplace_back(scores.of(logits(v), static_cast<std::uint32_t>(v), position), v);
  }
  std::ranges::partial_sort(ranking, ranking.begin() + 2, std::greater<>());
  const auto [best, best_token] = ranking[0];
  const auto [next, next_token] = ranking[1];
  Decision decision{best - next, analysis.margin_error(row, best_token, next_token)};
  if (scores.params.temperature == 0) return decision;

  // The logit less the largest, the quotient and the sum with the noise are rounded.
  constexpr double kUnit = 0x1p-24;
  const auto temperature = static_cast<double>(scores.params.temperature);
  decision.error /= temperature;
  for (const auto& [score, token] : {ranking[0], ranking[1]}) {
    const double scaled = (logits.maxCoeff() - logits(token)) / temperature;
    decision.error += kUnit * (2 * scaled + std::abs(score - logits.maxCoeff() / temperature));
  }
  return decision;
}

// ---- The engine -----------------------------------------------------------------------

/// All requests together, with speculation, in small chunks and few blocks. Returns: their outputs.
std::vector<std::vector<TokenId>> engine_outputs(const TinyConfig& config,
                                                 const std::vector<Request>& requests,
                                                 std::uint32_t drafts) {
  const SchedulerConfig scheduling{
      .cache = {.num_blocks = draw(14, 40), .block_size = 4},
      .batch = {.max_batch_size = draw(1, 4), .max_batch_tokens = draw(8, 40)},
      .prefill_chunk_size = draw(1, 24)};
  const executor::ExecutorOptions options{
      .cache = scheduling.cache, .batch = scheduling.batch, .drafts = drafts};
  cpu::CpuExecutor executor(options, cpu::seeded_cpu_model(config, options));
  engine::Engine engine(scheduling, executor);
  std::map<SeqId, std::size_t> numbers;
  for (const Request& request : requests) {
    const auto seq = engine.submit(request);
    RC_ASSERT(seq.has_value());
    numbers.emplace(*seq, numbers.size());
  }
  std::vector<std::vector<TokenId>> outputs(requests.size());
  while (engine.has_work()) {
    const auto [plan, result] = engine.step();
    for (const SliceResult& slice : result.slices) {
      auto& output = outputs[numbers.at(slice.seq)];
      for (const TokenId token : result.tokens_of(slice)) output.push_back(token);
    }
  }
  return outputs;
}

Request random_request(int vocabulary) {
  Request request{.prompt = testing::some_tokens(draw(1, 24), draw(1, 1'000'000), vocabulary),
                  .max_new_tokens = draw(1, 16)};
  request.sampling = {.temperature = *rc::gen::element(0.0F, 0.7F, 1.5F),
                      .seed = draw(1, 1'000'000)};
  request.ignore_eos = one_in(2);
  return request;
}

struct Counts {
  std::uint64_t decisions = 0;
  std::uint64_t uncertain = 0;
  std::uint64_t parted = 0;  // texts that went another way, after an uncertain decision
  std::uint64_t accepted = 0;
};

/// Compares what the engine said to `request` with what the textbook says.
void compare(const TinyTransformer& textbook, const Request& request, std::uint32_t drafts,
             const std::vector<TokenId>& output, Counts& counts) {
  LayersOf draft{textbook, 2}, target{textbook, textbook.config().layers};
  const Scores scores{request.sampling};
  const auto eos = request.ignore_eos ? std::nullopt : std::optional(TokenId(0));
  SpeculativeDecoder<double, LayersOf, LayersOf, Scores> decoder(draft, target, scores,
                                                                 {.drafts = drafts, .eos = eos});
  const auto text = decoder.generate(request.prompt, request.max_new_tokens);
  counts.accepted += decoder.statistics().accepted;

  const RoundingAnalysis analysis(textbook, text);
  const std::size_t prompt = request.prompt.size();
  for (std::size_t i = prompt; i < text.size(); ++i) {
    const auto decision = decision_at(analysis, static_cast<Eigen::Index>(i) - 1, scores);
    ++counts.decisions;
    counts.uncertain += decision.is_certain() ? 0 : 1;
    RC_ASSERT(i - prompt < output.size());
    if (output[i - prompt] == text[i]) continue;
    RC_LOG() << "token " << i << " leads by " << decision.lead << ", error " << decision.error;
    RC_ASSERT(!decision.is_certain());
    ++counts.parted;
    return;
  }
  RC_ASSERT(output.size() == text.size() - prompt);
}

TEST(TextbookTokens, are_the_engine_s_wherever_rounding_cannot_decide) {
  Counts counts;
  EXPECT_TRUE(rc::check("the engine's tokens are the textbook's", [&] {
    const TinyConfig config{.layers = 3, .seed = draw(1, 1'000'000)};
    const std::uint32_t drafts = draw(0, 5);
    std::vector<Request> requests(draw(1, 3));
    for (Request& request : requests) request = random_request(config.vocabulary_size);
    const auto outputs = engine_outputs(config, requests, drafts);
    const TinyTransformer textbook(config);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      compare(textbook, requests[i], drafts, outputs[i], counts);
    }
  }));
  std::cout << counts.decisions << " decisions, " << counts.uncertain << " uncertain, "
            << counts.parted << " texts parted, " << counts.accepted << " drafts accepted\n";
  EXPECT_GT(counts.accepted, 0U);
  EXPECT_LE(counts.uncertain * 100, counts.decisions);  // at most one in a hundred
}

}  // namespace
}  // namespace forge::reference
