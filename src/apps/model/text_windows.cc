#include "text_windows.h"

#include <algorithm>
#include <cmath>

namespace forge::apps {
namespace {

/// -log softmax(logits)[token].
double negative_log(std::span<const float> logits, std::uint32_t token) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return std::log(sum) + largest - static_cast<double>(logits[token]);
}

}  // namespace

std::vector<TextWindow> windows_of(std::size_t count, std::size_t size) {
  std::vector<TextWindow> windows;
  std::size_t first = 0;
  for (std::size_t scored = 1; scored < count;) {
    const std::size_t end = std::min(first + size, count);
    windows.push_back({first, scored, end});
    scored = end;
    first += size / 2;
  }
  return windows;
}

double TextScore::perplexity() const {
  return tokens == 0 ? 0 : std::exp(sum_negative_log / static_cast<double>(tokens));
}

TextScore score_text(TokenPass& pass, std::span<const std::uint32_t> tokens, std::size_t window,
                     const std::function<bool(std::size_t done)>& progress) {
  TextScore score;
  for (const TextWindow& one : windows_of(tokens.size(), window)) {
    const auto logits = pass.run(tokens.subspan(one.first, one.end - one.first));
    const std::size_t width = logits.size() / (one.end - one.first);
    for (std::size_t i = one.scored; i < one.end; ++i) {
      const std::size_t row = i - 1 - one.first;
      score.sum_negative_log += negative_log(logits.subspan(row * width, width), tokens[i]);
      ++score.tokens;
    }
    if (progress && !progress(one.end)) break;
  }
  return score;
}

}  // namespace forge::apps
