#include "forge/executor/logits_digest.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <utility>
#include <vector>

namespace forge::executor {
namespace {

std::vector<float> row(std::size_t size) {
  std::vector<float> x;
  for (std::size_t i = 0; i < size; ++i) x.push_back(static_cast<float>(i) * 0.37F - 5);
  return x;
}

/// The definition in the header, word by word.
std::uint64_t by_definition(const std::vector<float>& x) {
  std::uint64_t lanes[8];
  for (std::uint64_t j = 0; j < 8; ++j) lanes[j] = 0x9e3779b97f4a7c15u + j;
  for (std::size_t i = 0; 2 * i < x.size(); ++i) {
    std::uint64_t word = std::bit_cast<std::uint32_t>(x[2 * i]);
    if (2 * i + 1 < x.size()) {
      word |= static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(x[2 * i + 1])) << 32;
    }
    std::uint64_t& lane = lanes[i % 8];
    lane = (lane ^ word) * 0xd6e8feb86659fd93u;
    lane ^= lane >> 32;
  }
  std::uint64_t digest = x.size();
  for (const std::uint64_t lane : lanes) {
    digest = (digest ^ lane) * 0xd6e8feb86659fd93u;
    digest ^= digest >> 32;
  }
  return digest;
}

TEST(LogitsDigest, is_the_documented_function) {
  for (std::size_t size = 0; size <= 70; ++size) {
    EXPECT_EQ(logits_digest(row(size)), by_definition(row(size))) << size;
  }
  EXPECT_EQ(logits_digest(row(320)), by_definition(row(320)));
}

TEST(LogitsDigest, changes_with_every_bit_of_every_float_and_with_their_order) {
  const auto x = row(320);
  std::set<std::uint64_t> seen{logits_digest(x)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (int bit = 0; bit < 32; ++bit) {
      auto y = x;
      y[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(y[i]) ^ (1U << bit));
      EXPECT_TRUE(seen.insert(logits_digest(y)).second) << i << " bit " << bit;
    }
    auto swapped = x;
    std::swap(swapped[i], swapped[(i + 16) % 320]);
    EXPECT_TRUE(seen.insert(logits_digest(swapped)).second) << i;
  }
}

TEST(LogitsDigest, tells_zero_from_minus_zero_and_short_from_long) {
  EXPECT_NE(logits_digest(std::vector{0.0F}), logits_digest(std::vector{-0.0F}));
  EXPECT_NE(logits_digest(std::vector{0.0F}), logits_digest(std::vector{0.0F, 0.0F}));
}

}  // namespace
}  // namespace forge::executor
