#include "forge/sampling/sampler.h"

#include <algorithm>
#include <cstddef>

#include "forge/core/check.h"
#include "forge/numerics/canonical.h"
#include "forge/numerics/philox.h"
#include "forge/numerics/vector_ops.h"

namespace forge {
namespace {

/// The stream of the Gumbel noise; the others are those of DrawStream.
constexpr std::uint32_t kGumbelStream = 0;

/// Tokens that one pass of the loops below handles, in arrays on the stack.
constexpr std::size_t kChunk = 64;

numerics::Words4 random_words(std::uint64_t seed, std::uint64_t position, std::uint32_t index,
                              std::uint32_t stream) {
  return numerics::philox({{static_cast<std::uint32_t>(position),
                            static_cast<std::uint32_t>(position >> 32), index, stream}},
                          seed);
}

/// score[i] = (logits[first + i] - max) / temperature + Gumbel noise. Loops of one kind of
/// work each, so that the compiler can vectorise them.
void score_chunk(std::span<const float> logits, float max, float temperature,
                 std::span<float> score) {
  for (std::size_t i = 0; i < logits.size(); ++i) score[i] = -numerics::log(score[i]);
  for (std::size_t i = 0; i < logits.size(); ++i) score[i] = -numerics::log(score[i]);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    score[i] = (logits[i] - max) / temperature + score[i];
  }
}

void fill_uniform(const SamplingParams& params, std::uint64_t position, std::size_t first,
                  std::span<float> u) {
  for (std::size_t i = 0; i < u.size(); i += 4) {
    const auto index = static_cast<std::uint32_t>((first + i) / 4);
    const numerics::Words4 words = random_words(params.seed, position, index, kGumbelStream);
    for (std::size_t j = 0; j < std::min<std::size_t>(4, u.size() - i); ++j) {
      u[i + j] = numerics::uniform_open(words.x[j]);
    }
  }
}

TokenId argmax(std::span<const float> logits) {
  return TokenId(
      static_cast<std::uint32_t>(numerics::argmax(logits.data(), static_cast<int>(logits.size()))));
}

}  // namespace

TokenId pick(std::span<const float> logits, const SamplingParams& params, std::uint64_t position) {
  FORGE_CHECK(params.temperature >= 0.0F, "temperature=", params.temperature);
  if (params.temperature == 0.0F) return argmax(logits);
  const float max = numerics::max(logits.data(), static_cast<int>(logits.size()));
  float score[kChunk];
  float best_score = 0.0F;
  std::size_t best = logits.size();
  for (std::size_t first = 0; first < logits.size(); first += kChunk) {
    const std::size_t count = std::min(kChunk, logits.size() - first);
    fill_uniform(params, position, first, std::span(score, count));
    score_chunk(logits.subspan(first, count), max, params.temperature, std::span(score, count));
    for (std::size_t i = 0; i < count; ++i) {
      if (best == logits.size() || score[i] > best_score) {
        best = first + i;
        best_score = score[i];
      }
    }
  }
  return TokenId(static_cast<std::uint32_t>(best));
}

void probabilities(std::span<const float> logits, float temperature, std::span<double> out) {
  FORGE_CHECK(temperature >= 0.0F, "temperature=", temperature);
  FORGE_CHECK(out.size() == logits.size(), "out=", out.size(), " logits=", logits.size());
  if (temperature == 0.0F) {
    std::fill(out.begin(), out.end(), 0.0);
    out[argmax(logits).value] = 1.0;
    return;
  }
  const float max = numerics::max(logits.data(), static_cast<int>(logits.size()));
  double total = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out[i] = static_cast<double>(numerics::exp((logits[i] - max) / temperature));
    total += out[i];
  }
  for (double& p : out) p /= total;
}

double uniform(std::uint64_t seed, std::uint64_t position, DrawStream stream) {
  const std::uint32_t word =
      random_words(seed, position, 0, static_cast<std::uint32_t>(stream)).x[0];
  return (static_cast<double>(word) + 0.5) * 0x1p-32;
}

}  // namespace forge
