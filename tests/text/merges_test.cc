#include "merges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>

namespace forge::text::detail {
namespace {

using ::testing::ElementsAre;
using Symbols = std::vector<std::uint32_t>;

/// The definition: the lowest rank, the leftmost of it, until there is none.
Symbols by_definition(Symbols symbols,
                      const std::map<std::pair<std::uint32_t, std::uint32_t>,
                                     std::pair<std::uint32_t, std::uint32_t>>& merges) {
  while (true) {
    std::optional<std::pair<std::uint32_t, std::size_t>> best;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = merges.find({symbols[i], symbols[i + 1]});
      if (found == merges.end()) continue;
      const std::pair candidate{found->second.first, i};
      if (!best || candidate < *best) best = candidate;
    }
    if (!best) return symbols;
    const std::size_t at = best->second;
    symbols[at] = merges.at({symbols[at], symbols[at + 1]}).second;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Merges, the_lowest_rank_goes_first_and_of_equals_the_leftmost) {
  Merges merges;  // 1 1 -> 2 before 2 1 -> 3
  EXPECT_TRUE(merges.add({1, 1}, 2, 0));
  EXPECT_TRUE(merges.add({2, 1}, 3, 1));
  EXPECT_FALSE(merges.add({2, 1}, 4, 2)) << "there already";
  Symbols five{1, 1, 1, 1, 1};
  merges.apply(five);
  EXPECT_THAT(five, ElementsAre(2, 3));
}

TEST(Merges, nothing_and_one_symbol_stay) {
  Merges merges;
  merges.add({1, 1}, 2, 0);
  Symbols none;
  merges.apply(none);
  EXPECT_THAT(none, ElementsAre());
  Symbols one{1};
  merges.apply_by_heap(one);
  EXPECT_THAT(one, ElementsAre(1));
}

RC_GTEST_PROP(Merges, both_ways_do_what_the_definition_says, ()) {
  Merges merges;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>> known;
  const int count = *rc::gen::inRange(0, 30);
  for (int i = 0; i < count; ++i) {
    const auto left = *rc::gen::inRange<std::uint32_t>(0, 8);
    const auto right = *rc::gen::inRange<std::uint32_t>(0, 8);
    const auto merged = *rc::gen::inRange<std::uint32_t>(0, 12);
    const auto rank = *rc::gen::inRange<std::uint32_t>(0, 10);  // ties as in scored vocabularies
    const bool is_new = merges.add({left, right}, merged, rank);
    RC_ASSERT(is_new == known.emplace(std::pair{left, right}, std::pair{rank, merged}).second);
  }
  const auto symbols = *rc::gen::container<Symbols>(rc::gen::inRange<std::uint32_t>(0, 8));
  const Symbols expected = by_definition(symbols, known);
  Symbols searched = symbols;
  merges.apply_by_search(searched);
  RC_ASSERT(searched == expected);
  Symbols heaped = symbols;
  merges.apply_by_heap(heaped);
  RC_ASSERT(heaped == expected);
}

}  // namespace
}  // namespace forge::text::detail
