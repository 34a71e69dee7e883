// Files that the package `gguf` of ggml-org wrote, against what it reads in them
// (tests/golden/gguf/make_fixtures.py).
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

#include "forge/formats/gguf.h"

namespace forge::formats {
namespace {

std::string golden(const std::string& name) { return std::string(FORGE_GOLDEN_GGUF) + "/" + name; }

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// As Python shows a float.
std::string shown(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e16) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.1f", number);
    return text.data();
  }
  return to_string(GgufValue(number)).substr(4);
}

std::string shown(const GgufNumbers& numbers, std::size_t i) {
  if (numbers.has_integers()) return std::to_string(numbers.integer(i));
  if (numbers.type() == GgufType::boolean) return numbers.integer(i) == 1 ? "true" : "false";
  return shown(numbers.number(i));
}

std::string listed(const GgufValue& value) {
  std::string line = to_string(value);
  const auto* const array = std::get_if<GgufArray>(&value);
  if (array == nullptr) return line;
  line += ":";
  if (const auto* const texts = std::get_if<GgufTexts>(array)) {
    for (const std::string_view text : *texts) line += " '" + std::string(text) + "'";
    return line;
  }
  const auto& numbers = std::get<GgufNumbers>(*array);
  for (std::size_t i = 0; i < numbers.size(); ++i) line += " " + shown(numbers, i);
  return line;
}

std::string listed(const Tensor& tensor) {
  std::string first;
  for (const std::byte byte : tensor.bytes.first(std::min<std::size_t>(8, tensor.bytes.size()))) {
    std::array<char, 3> digits;
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(byte));
    first += digits.data();
  }
  return "tensor " + tensor.name + ": " + to_string(tensor) + ", " +
         std::to_string(tensor.bytes.size()) + " bytes at " + std::to_string(tensor.offset) + ": " +
         first;
}

/// What make_fixtures.py writes of the same file, except that keys come in the order of `like`:
/// metadata does not keep that of the file.
std::vector<std::string> listing(const Gguf& gguf, const std::vector<std::string>& like) {
  std::vector<std::string> lines = {"version " + std::to_string(gguf.version())};
  for (const std::string& line : like) {
    if (line.rfind("key ", 0) != 0) continue;
    const std::string key = line.substr(4, line.find(':') - 4);
    const GgufValue* const value = gguf.value(key);
    lines.push_back("key " + key + ": " + (value == nullptr ? "missing" : listed(*value)));
  }
  for (const Tensor& tensor : gguf.tensors()) lines.push_back(listed(tensor));
  return lines;
}

class GgufFixture : public ::testing::TestWithParam<const char*> {};

TEST_P(GgufFixture, holds_what_another_implementation_reads) {
  const std::string name = GetParam();
  const Gguf gguf = Gguf::open(golden(name + ".gguf")).value();
  const std::vector<std::string> expected = lines_of(golden(name + ".txt"));
  EXPECT_EQ(listing(gguf, expected), expected);
  EXPECT_EQ(1 + gguf.metadata().size() + gguf.tensors().size(), expected.size());
}

INSTANTIATE_TEST_SUITE_P(Files, GgufFixture, ::testing::Values("all_types", "version2"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace forge::formats
