// Blocks whose numbers an independent implementation has decoded: the PyPI package gguf, see
// tests/golden/quant/make_blocks.py.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "forge/quant/dequantize.h"
#include "quant/random_blocks.h"

namespace forge::quant {
namespace {

std::vector<char> contents(const std::string& name) {
  std::ifstream file(std::string(FORGE_GOLDEN_BLOCKS) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

class GoldenBlocks : public testing::TestWithParam<WeightType> {};

TEST_P(GoldenBlocks, have_the_numbers_that_the_gguf_package_reads) {
  const WeightType type = GetParam();
  const auto stored = contents(std::string(name_of(type)) + ".blocks");
  const auto expected = contents(std::string(name_of(type)) + ".floats");
  const std::size_t count = expected.size() / sizeof(float);
  ASSERT_GT(count, 0u);
  ASSERT_EQ(bytes_of(type, count), stored.size());

  std::vector<float> numbers(count);
  dequantize(type, reinterpret_cast<const std::byte*>(stored.data()), count, numbers.data());
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &expected[i * sizeof bits], sizeof bits);
    if (std::isnan(std::bit_cast<float>(bits))) {
      ASSERT_TRUE(std::isnan(numbers[i])) << "number " << i;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(numbers[i]), bits) << "number " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, GoldenBlocks, testing::ValuesIn(kBlockTypes),
                         [](const auto& type) { return std::string(name_of(type.param)); });

}  // namespace
}  // namespace forge::quant
