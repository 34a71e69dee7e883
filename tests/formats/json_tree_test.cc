// What parse_json_tree takes is what nlohmann's own parser makes of it; what it refuses, and how.
#include "forge/formats/json_tree.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "formats/scratch_folder.h"

namespace forge::formats {
namespace {

using nlohmann::json;
using Random = std::mt19937;

std::string error_of(const std::string& text) {
  const auto tree = parse_json_tree(text, "f");
  return tree ? "" : to_string(tree.error());
}

std::string nested(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

constexpr const char* kText =
    R"({"a": [1, -2, 3.5, 18446744073709551615, "x\u00e9\n", true, null, {"b": {}, "a": []}],
        "": {"deep": [[[["x"]]], 7]}, "e": 1e-300})";

TEST(JsonTree, is_that_of_a_parser_for_all_purposes) {
  for (const char* const text : {kText, "7", "\"x\"", "[]", "{}", " [ 1 , [ 2 ] ] ", "null"}) {
    EXPECT_EQ(parse_json_tree(text, "f").value(), json::parse(text)) << text;
  }
}

TEST(JsonTree, texts_that_are_not_json_are_refused_where_they_stop_being_it) {
  EXPECT_EQ(error_of(""), "f: at byte 0: is not JSON in or right after ''");
  EXPECT_EQ(error_of("[1, 2"), "f: at byte 5: is not JSON in or right after '[1, 2'");
  EXPECT_EQ(error_of("[1] [2]"), "f: at byte 4: is not JSON in or right after '[1] ['");
  EXPECT_EQ(error_of("[NaN]"), "f: at byte 1: is not JSON in or right after '[N'");
  EXPECT_EQ(error_of("[-Infinity]"), "f: at byte 2: is not JSON in or right after '[-I'");
  EXPECT_EQ(error_of("[\"\xff\"]"), "f: at byte 2: is not JSON in or right after '[\"\\xff'");
  EXPECT_EQ(error_of("[1e400]"),
            "f: at byte 5: the number 1e400 is out of range; accepted are those up to 1.797e+308 "
            "in size");
}

TEST(JsonTree, what_follows_a_zero_byte_is_not_passed_over) {
  EXPECT_EQ(error_of(std::string("{}\0{}", 5)), "f: at byte 2: is not JSON: a zero byte");
  EXPECT_EQ(error_of(std::string("{}\0", 3)), "f: at byte 2: is not JSON: a zero byte");
}

TEST(JsonTree, a_key_is_there_once_in_its_object) {
  EXPECT_EQ(error_of(R"({"a": {"b": 1}, "b": {"b": 1}})"), "");
  EXPECT_EQ(error_of(R"({"a": 1, "b": 2, "a": 3})"), "f: has the key 'a' twice");
  EXPECT_EQ(error_of(R"([{"x": [{"\u0007": 1, "\u0007": 1}]}])"), "f: has the key '\\x07' twice");
}

TEST(JsonTree, nests_to_a_limit) {
  EXPECT_EQ(error_of(nested(kJsonTreeDepthMax)), "");
  EXPECT_EQ(error_of(nested(kJsonTreeDepthMax + 1)), "f: nests objects and arrays deeper than 32");
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  EXPECT_EQ(error_of(objects), "f: nests objects and arrays deeper than 32");
}

TEST(JsonTree, files_have_a_limit) {
  const testing::ScratchFolder folder;
  const std::string path = folder.write("f", "[1, 2]");
  const auto file = open_json(path, 6);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(text_of(*file), "[1, 2]");
  EXPECT_EQ(to_string(open_json(path, 5).error()), path + ": has 6 bytes; accepted are up to 5");
}

/// Whether a tree nests no deeper than `depth`.
bool is_within(const json& tree, int depth) {
  if (!tree.is_structured()) return true;
  return depth > 0 && std::all_of(tree.begin(), tree.end(),
                                  [&](const json& member) { return is_within(member, depth - 1); });
}

TEST(JsonTree, of_changed_texts_is_theirs_or_there_is_a_reason) {
  Random random(23);
  const std::string pieces = "[]{}\":,0e9.-\\ntu \x01\xc3";
  int taken = 0;
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = kText;
    for (std::size_t i = 1 + random() % 3; i > 0; --i) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = pieces[random() % pieces.size()];
      } else {
        text.erase(at, 1 + random() % 4);
      }
    }
    const auto tree = parse_json_tree(text, "f");
    const json expected = json::parse(text, nullptr, false);
    if (tree) {
      ASSERT_EQ(*tree, expected) << text;
      ++taken;
    } else {
      const bool twice = tree.error().message.starts_with("has the key ");
      ASSERT_TRUE(expected.is_discarded() || twice || !is_within(expected, kJsonTreeDepthMax))
          << text << '\n'
          << to_string(tree.error());
      ++refused;
    }
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace forge::formats
