// Each way to ask for a member: what it answers, and what it says of a member that is not so.
#include "forge/json/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace forge::json {

enum class Fruit : std::uint8_t { apple, pear };
constexpr Names<Fruit> names_of(Fruit) { return {"apple", "pear"}; }

namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;

/// The message after `read` has asked for members of `text`; empty if all is well.
template <class Read>
std::string fault_of(const char* text, Read read) {
  const Json object = Json::parse(text);
  Fault fault;
  const Fields fields(object, "", fault);
  read(fields);
  return fault.message;
}

template <class Read>
void expect_value(const char* text, const auto& expected, Read read) {
  EXPECT_EQ(fault_of(text, [&](const Fields& fields) { EXPECT_EQ(read(fields), expected); }), "");
}

TEST(JsonFields, integers_are_in_range_whatever_their_sign_and_size) {
  const auto read = [](const Fields& f) { return f.integer("a", {-4, 8}); };
  expect_value(R"({"a": 8})", 8, read);
  expect_value(R"({"a": -4})", -4, read);
  expect_value("{}", 5, [](const Fields& f) { return f.integer("a", {0, 1}, 5); });
  expect_value(R"({"a": null})", 5, [](const Fields& f) { return f.integer("a", {0, 1}, 5); });
  for (const char* const value :
       {"9", "-5", "1.0", "true", "\"1\"", "18446744073709551615", "-9223372036854775808"}) {
    EXPECT_EQ(fault_of(("{\"a\": " + std::string(value) + "}").c_str(), read),
              "a is " + std::string(value) + "; accepted is an integer, -4 .. 8");
  }
  EXPECT_EQ(fault_of("{}", read), "a is missing; accepted is an integer, -4 .. 8");
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  expect_value(R"({"a": -9223372036854775808})", kLowest, [](const Fields& f) {
    return f.integer<std::int64_t>("a", {kLowest, 0});
  });
}

TEST(JsonFields, natural_numbers_have_64_bits) {
  const auto read = [](const Fields& f) { return f.natural("a"); };
  expect_value(R"({"a": 18446744073709551615})", UINT64_MAX, read);
  EXPECT_EQ(fault_of(R"({"a": -1})", read),
            "a is -1; accepted is an integer, 0 .. 18446744073709551615");
}

TEST(JsonFields, numbers_booleans_and_texts) {
  const auto number = [](const Fields& f) { return f.number("a", {0, 1.5}, 1); };
  expect_value(R"({"a": 0.25})", 0.25, number);
  expect_value("{}", 1.0, number);
  EXPECT_EQ(fault_of(R"({"a": 2})", number), "a is 2; accepted is a number, 0 .. 1.5");

  expect_value(R"({"a": true})", true, [](const Fields& f) { return f.boolean("a", false); });
  EXPECT_EQ(fault_of("{}", [](const Fields& f) { f.boolean("a"); }),
            "a is missing; accepted is true or false");

  expect_value(R"({"a": ""})", "", [](const Fields& f) { return f.text("a", "x"); });
  expect_value("{}", "x", [](const Fields& f) { return f.text("a", "x"); });
  EXPECT_EQ(fault_of(R"({"a": []})", [](const Fields& f) { f.text("a"); }),
            "a is a list of 0; accepted is a text");
  EXPECT_EQ(fault_of(R"({"a": ""})", [](const Fields& f) { f.text("a"); }),
            "a is \"\"; accepted is a text that is not empty");
}

TEST(JsonFields, one_of_a_few_names) {
  const auto fruit = [](const Fields& f) { return f.choice<Fruit>("a", Fruit::pear); };
  expect_value(R"({"a": "apple"})", Fruit::apple, fruit);
  expect_value("{}", Fruit::pear, fruit);
  EXPECT_EQ(fault_of(R"({"a": "plum"})", fruit), "a is \"plum\"; accepted is \"apple\", \"pear\"");
  const auto word = [](const Fields& f) { return f.one_of("a", {"x", "y"}); };
  expect_value(R"({"a": "y"})", "y", word);
  EXPECT_EQ(fault_of("{}", word), "a is missing; accepted is \"x\", \"y\"");
}

TEST(JsonFields, only_one_value) {
  Json object = {{"a", 2}};
  Fault fault;
  const Fields fields(object, "", fault);
  fields.only("a", 2);
  fields.only("b", "x");
  EXPECT_FALSE(fault.is_set());
  fields.only("a", nullptr);
  EXPECT_EQ(fault.message, "a is 2; accepted is only null");
  EXPECT_EQ(fault.name, "a");
  EXPECT_EQ(fault.kind, Fault::Kind::unsupported);
}

TEST(JsonFields, lists) {
  const auto integers = [](const Fields& f) { return f.integers("a", {0, 9}); };
  expect_value(R"({"a": [1, 2]})", std::vector<std::int64_t>{1, 2}, integers);
  expect_value(R"({"a": 7})", std::vector<std::int64_t>{7}, integers);
  expect_value("{}", std::vector<std::int64_t>{}, integers);
  EXPECT_EQ(fault_of(R"({"a": [1, 10]})", integers),
            "a is a list of 2; accepted is an integer, 0 .. 9, or a list of them");
  const auto texts = [](const Fields& f) { return f.texts("a"); };
  expect_value(R"({"a": ["x", ""]})", std::vector<std::string>{"x", ""}, texts);
  EXPECT_EQ(fault_of(R"({"a": ["x", 1]})", texts), "a is a list of 2; accepted is a list of texts");
  const auto second = [](const Fields& f) { return f.list("a").at(1).integer("b", {0, 1}); };
  expect_value(R"({"a": [{}, {"b": 1}]})", 1, second);
  EXPECT_EQ(fault_of(R"({"a": [{}, {"b": 2}]})", second),
            "a[1].b is 2; accepted is an integer, 0 .. 1");
  EXPECT_EQ(fault_of(R"({"a": [{}, 3]})", second), "a[1] is 3; accepted is an object");
}

TEST(JsonFields, objects_share_the_fault_and_name_their_place) {
  const auto inner = [](const Fields& f) {
    return f.required_object("a").required_object("b").integer("c", {0, 1});
  };
  expect_value(R"({"a": {"b": {"c": 1}}})", 1, inner);
  EXPECT_EQ(fault_of(R"({"a": {"b": {}}})", inner),
            "a.b.c is missing; accepted is an integer, 0 .. 1");
  EXPECT_EQ(fault_of(R"({"a": {"b": 1}})", inner), "a.b is 1; accepted is an object");
  EXPECT_EQ(fault_of("{}", inner), "a is missing; accepted is an object");
  EXPECT_EQ(fault_of("{}", [](const Fields& f) { EXPECT_FALSE(f.object("a").has_value()); }), "");
  EXPECT_EQ(fault_of("[]", inner), " is a list of 0; accepted is an object");

  std::vector<std::string> names;
  fault_of(R"({"x": {}, "y": 1, "\u0007": {}})", [&](const Fields& f) {
    for (const Fields& member : f.objects()) names.push_back(member.name_of("a"));
  });
  EXPECT_THAT(names, ElementsAre("\a.a", "x.a"));
}

TEST(JsonFields, the_first_fault_is_kept) {
  EXPECT_EQ(fault_of(R"({"a": 1, "b": 2})",
                     [](const Fields& f) {
                       f.boolean("b", true);
                       f.boolean("a", true);
                       f.refuse("c", "is wrong");
                     }),
            "b is 2; accepted is true or false");
}

TEST(JsonFields, names_of_strangers_are_printable) {
  EXPECT_EQ(fault_of(R"({"\n": 1})", [](const Fields& f) { f.text("\n"); }),
            "\\x0a is 1; accepted is a text");
}

TEST(JsonFields, what_nobody_asked_for_is_unknown_and_comes_first) {
  const Json object = Json::parse(R"({"a": null, "layer": 2})");
  Fault fault;
  const Fields fields(object, "model", fault);
  fields.integer("layers", {1, 4});
  EXPECT_EQ(fault.message, "model.layers is missing; accepted is an integer, 1 .. 4");
  EXPECT_FALSE(fields.has("a"));
  EXPECT_TRUE(fields.is_null("a"));
  fields.finish();
  EXPECT_EQ(fault.message, "unknown field 'model.layer'");
  EXPECT_EQ(fault.name, "model.layer");
  EXPECT_EQ(fault.kind, Fault::Kind::unknown);
  fields.find("layer");
  Fault none;
  const Fields again(object, "", none);
  again.find("layer");
  again.find("a");
  again.finish();
  EXPECT_FALSE(none.is_set());
}

}  // namespace
}  // namespace forge::json
