// What the tests of pages rest on: a page is taken apart as written here, and a wrong line is
// noticed.
#include "apps/transcripts.h"

#include <gmock/gmock.h>

#include <map>

namespace forge::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Transcripts, are_blocks_that_begin_with_a_prompt) {
  const auto found = transcripts_of(
      "# Page\n\n"
      "    build/run    # a block without a prompt is not run\n\n"
      "## First\n\n"
      "Words about `$ this`,\n\n"
      "    $ one \\\n"
      "      --flag\n"
      "    printed\n"
      "\n"
      "      and more\n"
      "    $ two\n\n"
      "words.\n\n"
      "    no output of two\n\n"
      "```sh\n"
      "# a comment\n"
      "$ three\n"
      "    indented\n"
      "```\n"
      "### Second\n"
      "- a list\n\n"
      "        $ four\n"
      "        printed\n"
      "    no output of four\n");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].section, "First");
  EXPECT_EQ(found[0].command, "one \\\n  --flag");
  EXPECT_THAT(found[0].output, ElementsAre("printed", "", "  and more"));
  EXPECT_EQ(found[1].command, "two");
  EXPECT_THAT(found[1].output, IsEmpty());
  EXPECT_EQ(found[2].section, "First");
  EXPECT_EQ(found[2].command, "three");
  EXPECT_THAT(found[2].output, ElementsAre("    indented"));
  EXPECT_EQ(found[3].section, "Second");
  EXPECT_EQ(found[3].command, "four");
  EXPECT_THAT(found[3].output, ElementsAre("printed"));
}

TEST(Transcripts, a_fenced_block_is_found_by_its_language) {
  const std::string page = "```sh\nls\n```\n\n```python\nimport os\n\nos.abort()\n```\nEnd\n";
  EXPECT_EQ(fenced_block(page, "python"), "import os\n\nos.abort()\n");
  EXPECT_EQ(fenced_block(page, "rust"), "");
}

TEST(Transcripts, a_wrong_or_missing_line_is_noticed) {
  const std::vector<std::string> printed{"a", "b", "c"};
  EXPECT_TRUE(shows({"a", "b", "c"}, printed));
  EXPECT_TRUE(shows({"a", "...", "c"}, printed));
  EXPECT_TRUE(shows({"...", "b", "..."}, printed));
  EXPECT_FALSE(shows({}, printed));
  EXPECT_FALSE(shows({"a", "c"}, printed));
  EXPECT_FALSE(shows({"a", "b"}, printed));
  EXPECT_FALSE(shows({"a", "b", "c", "d"}, printed));
  EXPECT_FALSE(shows({"...", "d", "..."}, printed));
  EXPECT_FALSE(shows({"...", "c", "b"}, printed));
}

TEST(Transcripts, a_wildcard_forgives_its_part_of_the_line_and_nothing_else) {
  const std::vector<Wildcard> seconds{{std::regex("in [0-9.]+ s"), "in <s> s"}};
  const std::string line = generalized("12 steps in 3.4 s", seconds);
  EXPECT_EQ(line, "12 steps in <s> s");
  EXPECT_EQ(generalized("12 steps in 17 s", seconds), line);
  EXPECT_NE(generalized("13 steps in 3.4 s", seconds), line);
  EXPECT_NE(generalized("12 steps in no s", seconds), line);
}

TEST(Transcripts, of_one_page_never_write_a_trace_twice) {
  std::vector<std::filesystem::path> pages{FORGE_SOURCE_DIR "/README.md"};
  for (const auto& page : std::filesystem::directory_iterator(FORGE_SOURCE_DIR "/book")) {
    pages.push_back(page);
  }
  const std::regex trace_flag("--trace +([^ ]+)");
  for (const auto& page : pages) {
    std::map<std::string, int> written;
    for (const Transcript& transcript : transcripts_of(read_file(page))) {
      std::smatch match;
      if (!std::regex_search(transcript.command, match, trace_flag)) continue;
      EXPECT_EQ(++written[match[1]], 1) << page << ": " << transcript.command;
    }
  }
}

}  // namespace
}  // namespace forge::testing
