#include "forge/corpus/choices.h"

#include <cmath>
#include <numeric>

namespace forge::corpus {

std::uint32_t Choices::draw(std::uint32_t total) {
  state_ += 0x9E3779B97F4A7C15;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<std::uint32_t>((((z ^ (z >> 31)) >> 32) * total) >> 32);
}

std::uint32_t Choices::below(std::uint32_t count) {
  made_.push_back({1, count});
  return draw(count);
}

std::size_t Choices::weighted(std::span<const std::uint32_t> weights) {
  const std::uint32_t total = std::accumulate(weights.begin(), weights.end(), 0U);
  std::uint32_t drawn = draw(total);
  std::size_t index = 0;
  while (drawn >= weights[index]) drawn -= weights[index++];
  made_.push_back({weights[index], total});
  return index;
}

std::string_view Choices::take(std::vector<std::string_view>& words) {
  const auto chosen = words.begin() + below(static_cast<std::uint32_t>(words.size()));
  const std::string_view word = *chosen;
  words.erase(chosen);
  return word;
}

double nats(std::span<const Choice> choices) {
  double sum = 0;
  for (const Choice& choice : choices) {
    sum += std::log(static_cast<double>(choice.total) / choice.weight);
  }
  return sum;
}

}  // namespace forge::corpus
