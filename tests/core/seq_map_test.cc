#include "forge/core/seq_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace forge {
namespace {

TEST(SeqMap, agrees_with_an_ordered_map_over_random_inserts_and_erases) {
  std::mt19937_64 random(1);
  SeqMap map;
  std::map<std::uint64_t, std::uint32_t> model;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const std::uint64_t seq = random() % 500;
    if (model.contains(seq)) {
      map.erase(SeqId{seq});
      model.erase(seq);
    } else {
      map.insert(SeqId{seq}, i);
      model[seq] = i;
    }
    ASSERT_EQ(map.size(), model.size());
    const std::uint64_t probe = random() % 500;
    const auto found = map.find(SeqId{probe});
    ASSERT_EQ(found.has_value(), model.contains(probe)) << probe;
    if (found) {
      ASSERT_EQ(*found, model[probe]);
    }
  }
}

}  // namespace
}  // namespace forge
