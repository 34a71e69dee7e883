// NgramIndex finds what a search of the whole text finds, and looks at little for it.
#include "forge/executor/ngram_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace forge::executor {
namespace {

using Text = std::vector<TokenId>;

std::uint32_t match_at(const Text& text, std::uint32_t earlier) {
  std::uint32_t length = 0;
  while (length < earlier && length < NgramIndex::kLongest &&
         text[earlier - 1 - length] == text[text.size() - 1 - length]) {
    ++length;
  }
  return length;
}

/// The longest match, the latest of equal ones, by trying every place.
std::optional<std::uint32_t> searched(const Text& text) {
  std::optional<std::uint32_t> best;
  std::uint32_t longest = NgramIndex::kShortest - 1;
  for (auto earlier = static_cast<std::uint32_t>(text.size()) - 1; earlier > 0; --earlier) {
    if (match_at(text, earlier) > longest) {
      longest = match_at(text, earlier);
      best = earlier;
    }
  }
  return best;
}

Text random_text(std::uint32_t seed, std::size_t size, std::uint32_t words) {
  std::mt19937 random(seed);
  Text text;
  for (std::size_t i = 0; i < size; ++i) text.emplace_back(random() % words);
  return text;
}

/// Chains of up to kTries runs are searched whole, so the texts are short.
TEST(NgramIndex, finds_what_a_search_of_the_whole_text_finds) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Text text = random_text(seed, 60, 4);
    NgramIndex index;
    for (std::size_t size = 1; size <= text.size(); ++size) {
      const Text so_far(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
      index.extend(so_far);
      ASSERT_EQ(index.next(), searched(so_far)) << "seed " << seed << ", " << size << " tokens";
    }
  }
}

TEST(NgramIndex, takes_tokens_in_one_by_one_or_together) {
  const Text text = random_text(7, 300, 5);
  NgramIndex together;
  NgramIndex single;
  for (std::size_t size = 1; size <= text.size(); ++size) {
    single.extend(std::span(text).first(size));
  }
  together.extend(text);
  EXPECT_EQ(together.next(), single.next());
}

TEST(NgramIndex, forgets_the_text_before) {
  NgramIndex index;
  index.extend(random_text(1, 100, 2));
  EXPECT_TRUE(index.next().has_value());
  index.clear();
  index.extend(Text{TokenId(0), TokenId(1), TokenId(2)});
  EXPECT_EQ(index.next(), std::nullopt);
}

TEST(NgramIndex, of_an_empty_text_knows_nothing) {
  NgramIndex index;
  index.extend({});
  EXPECT_EQ(index.next(), std::nullopt);
}

}  // namespace
}  // namespace forge::executor
