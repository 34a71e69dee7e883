// What json::parse takes is what nlohmann's own parser makes of it; what it refuses, and how.
#include "forge/json/parse.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace forge::json {
namespace {

using Json = nlohmann::json;
using Random = std::mt19937;

std::string error_of(const std::string& text) {
  const auto tree = parse(text);
  return tree ? "" : to_string(tree.error());
}

std::string nested(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

constexpr const char* kText =
    R"({"a": [1, -2, 3.5, 18446744073709551615, "x\u00e9\n", true, null, {"b": {}, "a": []}],
        "": {"deep": [[[["x"]]], 7]}, "e": 1e-300})";

TEST(JsonParse, is_that_of_a_parser_for_all_purposes) {
  for (const char* const text : {kText, "7", "\"x\"", "[]", "{}", " [ 1 , [ 2 ] ] ", "null"}) {
    EXPECT_EQ(parse(text).value(), Json::parse(text)) << text;
  }
}

TEST(JsonParse, texts_that_are_not_json_are_refused_where_they_stop_being_it) {
  EXPECT_EQ(error_of(""), "at byte 0: is not JSON in or right after ''");
  EXPECT_EQ(error_of("[1, 2"), "at byte 5: is not JSON in or right after '[1, 2'");
  EXPECT_EQ(error_of("[1] [2]"), "at byte 4: is not JSON in or right after '[1] ['");
  EXPECT_EQ(error_of("[NaN]"), "at byte 1: is not JSON in or right after '[N'");
  EXPECT_EQ(error_of("[-Infinity]"), "at byte 2: is not JSON in or right after '[-I'");
  EXPECT_EQ(error_of("[\"\xff\"]"), "at byte 2: is not JSON in or right after '[\"\\xff'");
  EXPECT_EQ(error_of("[1e400]"),
            "at byte 5: the number 1e400 is out of range; accepted are those up to 1.797e+308 "
            "in size");
}

TEST(JsonParse, what_follows_a_zero_byte_is_not_passed_over) {
  EXPECT_EQ(error_of(std::string("{}\0{}", 5)), "at byte 2: is not JSON: a zero byte");
  EXPECT_EQ(error_of(std::string("{}\0", 3)), "at byte 2: is not JSON: a zero byte");
}

TEST(JsonParse, a_key_is_there_once_in_its_object) {
  EXPECT_EQ(error_of(R"({"a": {"b": 1}, "b": {"b": 1}})"), "");
  EXPECT_EQ(error_of(R"({"a": 1, "b": 2, "a": 3})"), "has the key 'a' twice");
  EXPECT_EQ(error_of(R"([{"x": [{"\u0007": 1, "\u0007": 1}]}])"), "has the key '\\x07' twice");
}

TEST(JsonParse, nests_to_a_limit) {
  EXPECT_EQ(error_of(nested(kDepthMax)), "");
  EXPECT_EQ(error_of(nested(kDepthMax + 1)), "nests objects and arrays deeper than 32");
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  EXPECT_EQ(error_of(objects), "nests objects and arrays deeper than 32");
}

TEST(JsonParse, of_an_object_takes_nothing_else) {
  EXPECT_EQ(parse_object("{}").value(), Json::object());
  EXPECT_EQ(to_string(parse_object("[1, 2, 3]").error()), "is a list of 3; accepted is an object");
  EXPECT_EQ(to_string(parse_object("{").error()), "at byte 1: is not JSON in or right after '{'");
}

TEST(JsonParse, limits_may_be_tighter) {
  EXPECT_TRUE(parse(nested(2), 2).has_value());
  EXPECT_EQ(to_string(parse(nested(3), 2).error()), "nests objects and arrays deeper than 2");
}

TEST(JsonParse, values_are_shown_as_json_that_is_not_endless) {
  const std::pair<const char*, std::string> shown_as[] = {
      {"-3", "-3"},
      {"1.5", "1.5"},
      {"null", "null"},
      {"false", "false"},
      {"[1, 2]", "a list of 2"},
      {"{\"a\": 1}", "an object"},
      {R"("a\u0007\u00e9")", R"("a\u0007\u00e9")"}};
  for (const auto& [text, expected] : shown_as) EXPECT_EQ(shown(Json::parse(text)), expected);
  EXPECT_EQ(shown(Json(std::string(100, 'x'))), "\"" + std::string(63, 'x') + "...");
}

/// The events of a text as one line.
class Log final : public Visitor {
 public:
  bool key(std::string_view key) override { return say(std::string(key) + ":"); }
  bool value(const Value& value) override {
    return std::holds_alternative<Fraction>(value) || say(shown(value));
  }
  bool end() override { return say("end"); }
  std::string text;

 private:
  bool say(const std::string& event) {
    text += (text.empty() ? "" : " ") + event;
    return event != "stop:" || fail("has a stop");
  }
};

TEST(JsonEvents, come_in_the_order_of_the_text) {
  Log log;
  const auto read = visit(R"({"a": [1, -2, "x", null], "a": true})", kDepthMax, log);
  EXPECT_TRUE(read.has_value());
  EXPECT_EQ(log.text, R"(an object a: a list 1 -2 "x" null end a: true end)");
}

TEST(JsonEvents, end_where_the_visitor_fails) {
  Log log;
  const auto read = visit(R"({"a": 1, "stop": 2, "b": 3})", kDepthMax, log);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(to_string(read.error()), "has a stop");
  EXPECT_EQ(log.text, "an object a: 1 stop:");
}

/// Whether a tree nests no deeper than `depth`.
bool is_within(const Json& tree, int depth) {
  if (!tree.is_structured()) return true;
  return depth > 0 && std::all_of(tree.begin(), tree.end(),
                                  [&](const Json& member) { return is_within(member, depth - 1); });
}

TEST(JsonParse, of_changed_texts_is_theirs_or_there_is_a_reason) {
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
    const auto tree = parse(text);
    const Json expected = Json::parse(text, nullptr, false);
    if (tree) {
      ASSERT_EQ(*tree, expected) << text;
      ++taken;
    } else {
      const bool twice = tree.error().message.starts_with("has the key ");
      ASSERT_TRUE(expected.is_discarded() || twice || !is_within(expected, kDepthMax))
          << text << '\n'
          << to_string(tree.error());
      ++refused;
    }
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace forge::json
