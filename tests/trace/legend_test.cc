#include "forge/trace/legend.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "forge/trace/block_map.h"

namespace forge::trace {
namespace {

TEST(Legend, fits_a_terminal) {
  std::istringstream lines{std::string(legend())};
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_TRUE(legend().ends_with('\n'));
}

TEST(Legend, has_the_symbols_of_the_block_map) {
  EXPECT_EQ(BlockMap::symbol(SeqId(1)), '1');
  EXPECT_EQ(BlockMap::symbol(SeqId(11)), 'b');
  EXPECT_NE(legend().find("blocks    ++1.b"), std::string_view::npos);
}

}  // namespace
}  // namespace forge::trace
