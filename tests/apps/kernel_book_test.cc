// book/gpu.md shows commands and what they print. They are run here, so that the page is true.
//
// A line "..." in the page stands for any number of lines that it leaves out.
#include <sstream>
#include <vector>

#include "apps/programs.h"

namespace forge {
namespace {

constexpr const char* kIndent = "    ";
constexpr const char* kPrompt = "    $ forge-kernel ";
constexpr const char* kLeftOut = "...";

struct Example {
  std::string arguments;
  std::vector<std::string> lines;
};

/// The indented blocks of the page that start with a command.
std::vector<Example> examples_of(const std::string& page) {
  std::vector<Example> examples;
  std::istringstream in(page);
  bool inside = false;
  std::size_t blank_lines = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(kPrompt, 0) == 0) {
      examples.push_back({line.substr(std::string(kPrompt).size()), {}});
      inside = true;
      blank_lines = 0;
    } else if (inside && line.empty()) {
      ++blank_lines;  // in the block if more of it follows
    } else if (inside && line.rfind(kIndent, 0) == 0) {
      examples.back().lines.insert(examples.back().lines.end(), blank_lines, "");
      examples.back().lines.push_back(line.substr(std::string(kIndent).size()));
      blank_lines = 0;
    } else {
      inside = false;
    }
  }
  return examples;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Whether `shown` is `printed`, but for what "..." leaves out.
bool shows(const std::vector<std::string>& shown, const std::vector<std::string>& printed) {
  std::size_t at = 0;
  bool anywhere = false;
  for (const std::string& line : shown) {
    if (line == kLeftOut) {
      anywhere = true;
      continue;
    }
    while (anywhere && at < printed.size() && printed[at] != line) ++at;
    if (at == printed.size() || printed[at] != line) return false;
    ++at;
    anywhere = false;
  }
  return anywhere || at == printed.size();
}

TEST(BookOfKernels, shows_what_the_commands_print) {
  const auto examples = examples_of(testing::read_file(FORGE_SOURCE_DIR "/book/gpu.md"));
  EXPECT_GE(examples.size(), 10u);
  for (const Example& example : examples) {
    const auto outcome = testing::run(FORGE_KERNEL " " + example.arguments);
    EXPECT_LE(outcome.status, 1) << example.arguments;
    EXPECT_TRUE(shows(example.lines, lines_of(outcome.output)))
        << "forge-kernel " << example.arguments << "\n"
        << outcome.output;
  }
}

TEST(BookOfKernels, a_wrong_or_missing_line_is_noticed) {
  const std::vector<std::string> printed{"a", "b", "c"};
  EXPECT_TRUE(shows({"a", "b", "c"}, printed));
  EXPECT_TRUE(shows({"a", "...", "c"}, printed));
  EXPECT_TRUE(shows({"...", "b", "..."}, printed));
  EXPECT_FALSE(shows({"a", "c"}, printed));
  EXPECT_FALSE(shows({"a", "b"}, printed));
  EXPECT_FALSE(shows({"...", "d", "..."}, printed));
  EXPECT_FALSE(shows({"...", "c", "b"}, printed));
}

}  // namespace
}  // namespace forge
