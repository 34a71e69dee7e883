// The programs as a user runs them: a command in a shell, and a folder of its own for each test.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "formats/scratch_folder.h"

namespace forge::testing {

struct Outcome {
  int status = 0;      ///< exit status, 255 after a signal
  std::string output;  ///< stdout and stderr
};

inline Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  return outcome;
}

inline bool has(const Outcome& outcome, const std::string& part) {
  return outcome.output.find(part) != std::string::npos;
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The digest behind `label` in a program's output, or "none".
inline std::string digest_after(const std::string& output, const std::string& label) {
  const std::size_t at = output.find(label);
  const std::size_t digest = output.find("digest", at);
  if (at == output.npos || digest == output.npos) return "none";
  const std::size_t first = output.find_first_not_of(' ', digest + 6);
  return first == output.npos ? "none" : output.substr(first, 16);
}

class ProgramTest : public ::testing::Test {
 protected:
  /// A file of this test.
  std::string path(const std::string& name) const { return folder_.file(name); }

 private:
  formats::testing::ScratchFolder folder_;
};

}  // namespace forge::testing
