// book/models.md shows code of the table of families: it is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "formats/scratch_folder.h"

namespace forge::checkpoint {
namespace {

/// The lines from the first that has `start` up to one that ends an entry, without indentation.
std::string entry_in(const std::string& text, const std::string& start) {
  std::string entry;
  std::size_t at = text.find(start);
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    entry += text.substr(at, end - at) + "\n";
    if (entry.ends_with("},\n")) break;
    at = text.find_first_not_of(" \n", end);
  }
  return entry;
}

TEST(ModelsBook, the_entry_of_a_family_is_that_of_the_table) {
  const std::string root = FORGE_SOURCE_DIR;
  const std::string start = "{.model_type = \"olmo2\"";
  const std::string shown = entry_in(formats::testing::file_bytes(root + "/book/models.md"), start);
  EXPECT_NE(shown, "");
  EXPECT_EQ(shown,
            entry_in(formats::testing::file_bytes(root + "/src/checkpoint/families.cc"), start));
}

}  // namespace
}  // namespace forge::checkpoint
