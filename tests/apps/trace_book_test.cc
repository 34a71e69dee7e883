// book/traces.md shows commands and what they print. They are run here, so that the page is true.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr const char* kIndent = "    ";
constexpr const char* kPrompt = "    $ forge-trace ";

struct Example {
  std::string arguments;
  std::string output;
};

/// The indented blocks of the page that start with a command.
std::vector<Example> examples_of(const std::string& page) {
  std::vector<Example> examples;
  std::ifstream in(page);
  bool inside = false;
  std::string blank_lines;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(kPrompt, 0) == 0) {
      examples.push_back({line.substr(std::string(kPrompt).size()), ""});
      inside = true;
      blank_lines.clear();
    } else if (inside && line.empty()) {
      blank_lines += '\n';  // in the block if more of it follows
    } else if (inside && line.rfind(kIndent, 0) == 0) {
      examples.back().output += blank_lines + line.substr(std::string(kIndent).size()) + '\n';
      blank_lines.clear();
    } else {
      inside = false;
    }
  }
  return examples;
}

std::string output_of(const std::string& arguments) {
  const std::string command = "cd " FORGE_SOURCE_DIR " && " FORGE_TRACE " " + arguments + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), n);
  }
  pclose(pipe);
  return output;
}

TEST(BookOfTraces, shows_what_the_commands_print) {
  const std::vector<Example> examples = examples_of(FORGE_SOURCE_DIR "/book/traces.md");
  EXPECT_GE(examples.size(), 6u);
  for (const Example& example : examples) {
    EXPECT_EQ(output_of(example.arguments), example.output) << example.arguments;
  }
}

}  // namespace
