// What it costs to pick a token from one row of logits, by step of the pipeline.
#include <benchmark/benchmark.h>

#include <vector>

#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"
#include "forge/sampling/pipeline.h"
#include "forge/sampling/sampler.h"

namespace forge {
namespace {

/// Logits as a model has them: most far below a few, which are close (normal, deviation 3).
std::vector<float> some_logits(std::size_t vocabulary) {
  std::vector<float> logits(vocabulary);
  for (std::uint32_t t = 0; t < vocabulary; ++t) {
    const numerics::Words4 words = numerics::philox({{t, 0, 0, 0}}, 1);
    float sum = 0;  // of 4 uniform numbers, variance 1/3
    for (const std::uint32_t word : words.x) sum += numerics::uniform_open(word);
    logits[t] = (sum - 2) * 5.2F;
  }
  return logits;
}

void pick_token(benchmark::State& state, const SamplingParams& params) {
  const auto logits = some_logits(static_cast<std::size_t>(state.range(0)));
  std::vector<TokenId> prompt;  // 1,000 tokens were said
  for (std::uint32_t t = 0; t < 1000; ++t) prompt.emplace_back(31 * t);
  const sampling::Adjustments said(params, prompt);
  sampling::Pipeline pipeline;
  std::uint64_t position = 0;
  for (auto _ : state) {
    const auto row = pipeline.process(logits, params, said, {});
    if (!sampling::can_pick(row)) std::abort();
    benchmark::DoNotOptimize(sampling::pick(row, params, ++position));
  }
}

#define FORGE_PICK(name, ...)                                        \
  BENCHMARK_CAPTURE(pick_token, name, (SamplingParams{__VA_ARGS__})) \
      ->Arg(32000)                                                   \
      ->Arg(128256)                                                  \
      ->Unit(benchmark::kMicrosecond)
FORGE_PICK(greedy, .temperature = 0);
FORGE_PICK(temperature, .temperature = 0.7F);
FORGE_PICK(penalties, .temperature = 0.7F, .repetition_penalty = 1.1F);
FORGE_PICK(min_p, .temperature = 0.7F, .min_p = 0.05F);
FORGE_PICK(top_k, .temperature = 0.7F, .top_k = 40);
FORGE_PICK(top_p, .temperature = 0.7F, .top_p = 0.9F);
FORGE_PICK(top_k_top_p, .temperature = 0.7F, .top_k = 20, .top_p = 0.8F);
#undef FORGE_PICK

}  // namespace
}  // namespace forge
