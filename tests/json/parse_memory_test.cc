// What a JSON text costs in memory, against the promise of json/parse.h. Links heap_peak.cc.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "forge/json/parse.h"
#include "formats/heap_peak.h"

namespace forge::json {
namespace {

/// The most that was held at a time while `text` was parsed.
std::size_t bytes_held(const std::string& text, bool expect_fine) {
  const std::size_t before = formats::testing::heap_bytes();
  formats::testing::reset_heap_peak();
  const auto tree = parse(text);
  EXPECT_EQ(tree.has_value(), expect_fine) << (tree ? "" : to_string(tree.error()));
  return formats::testing::heap_peak_bytes() - before;
}

constexpr std::size_t kMany = std::size_t{8} << 20;
constexpr std::size_t kDepthBytes = 10000;  ///< of 32 open objects and an error

TEST(JsonMemory, nesting_that_goes_too_deep_costs_nothing) {
  EXPECT_LT(bytes_held(std::string(kMany, '['), false), kDepthBytes);
  std::string objects;
  while (objects.size() < kMany) objects += "{\"\":";
  EXPECT_LT(bytes_held(objects, false), kDepthBytes);
}

TEST(JsonMemory, what_follows_a_zero_byte_costs_nothing) {
  std::string text = "[0";
  while (text.size() < kMany) text += ",0";
  text += '\0';
  EXPECT_LT(bytes_held(text, false), kDepthBytes);
}

TEST(JsonMemory, a_list_costs_a_few_times_its_bytes) {
  std::string text = "[0";
  while (text.size() < kMany) text += ",0";
  // 16 bytes a number of 2, in an array that grows by doubling, the old one beside the new.
  EXPECT_LT(bytes_held(text + "]", true), 8 * 3 * text.size() + kDepthBytes);
}

}  // namespace
}  // namespace forge::json
