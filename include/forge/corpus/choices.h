// Choices: what a generator of text decides, drawn from a seed, and how likely each decision was.
//
// A text that follows from its choices, and shows each of them, has the probability of all of them
// together: so the entropy of the text is known, to be held against the loss of a model.
//
// Draws are SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the state grows by a constant, and a
// mixed copy of it is the word. The high half of a word times `total`, divided by 2^32, is a number
// below `total`, uniform to 2^-32. Integers only: the same on every machine, and in
// scripts/train/corpus.py.
//
// Thread contract: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace forge::corpus {

/// Had the probability weight / total.
struct Choice {
  std::uint32_t weight;
  std::uint32_t total;
};

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : state_(seed) {}

  /// Any of 0 .. count - 1. Requires: count >= 1.
  std::uint32_t below(std::uint32_t count);

  /// An index of `weights`, as likely as its weight. Requires: their sum is 1 .. 2^32 - 1.
  std::size_t weighted(std::span<const std::uint32_t> weights);

  /// Any word of `words`, which loses it; the others keep their order. Requires: there is one.
  std::string_view take(std::vector<std::string_view>& words);

  std::span<const Choice> made() const { return made_; }

 private:
  std::uint32_t draw(std::uint32_t total);

  std::uint64_t state_;
  std::vector<Choice> made_;
};

/// -log of the probability of all `choices` together.
double nats(std::span<const Choice> choices);

}  // namespace forge::corpus
