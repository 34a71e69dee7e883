// Keywords one by one: texts that are accepted, texts that are not, schemas that are refused.
#include <gtest/gtest.h>

#include "grammar/small_vocabulary.h"

namespace forge::grammar {
namespace {

using testing::accepts;

struct Row {
  const char* schema;
  std::vector<std::string> accepted;
  std::vector<std::string> refused;
};

const std::string kEAcute = "\xC3\xA9";
const std::string kSmile = "\xF0\x9F\x98\x80";

const std::vector<Row> kTextsOfValues = {
    {"{}",
     {" 1", "1 ", "\t[ ]\n", "-0", "-0.5e-300", "1E+10", "1e308", "1.6e308",
      "\"\\u0000\\ud83d\\ude00\\/\"", "\"" + kSmile + "\"", "{\"a\":{\"a\":1},\"b\":2}"},
     {"",
      " ",
      "01",
      "1.",
      ".5",
      "+1",
      "1e",
      "1e309",
      "1.8e308",
      "nul",
      "\"\n\"",
      "\"\\x\"",
      "\"\\ud83d\"",
      "\"\\ude00\"",
      "\"\\ud83dx\"",
      "\"\xC3\"",
      "\"\xED\xA0\x80\"",
      "{\"a\":1,\"a\":2}",
      "{\"a\":1,\"\\u0061\":2}",
      "[1,]",
      "{,}",
      "[1 2]",
      "'a'",
      "[1]]"}},
    {"{}",
     {"[\n        1\n]", "{\n\t\"a\": [ \r\n\r\n                1 ]\n  }", " \t1", "\n\n\n\n  1"},
     {"[\n         1]", "   1", "[1\t\t\t]", "\n\n\n\n\n1", "\n   1",
      "{\n        \n        \t\"a\":1}"}},
    {R"({"type": "integer"})",
     {"0", "-12", "1.0", "1.00", "1e3", "1.5e1", "1.25e+2", "1.2345678910111214e+52", "1e308"},
     {"1.5", "15e-1", "1.25e1", "1.5e0", "true"}},
    {R"({"minimum": 0, "maximum": 10.5})",
     {"0", "-0", "-0.0", "10.5", "10.50", "9.999999", "\"x\""},
     {"-0.1", "10.51", "11", "100", "1e0"}},
    {R"({"exclusiveMinimum": -1.25, "exclusiveMaximum": 2e2})",
     {"-1.249", "0", "199.9999", "-1"},
     {"-1.25", "-1.250", "-2", "200", "200.0", "1000"}},
    {R"({"minimum": 5, "exclusiveMinimum": true})", {"5.1", "6"}, {"5", "5.0", "4"}},
    {R"({"multipleOf": 0.01})", {"1", "0.25", "0.250", "-3.1", "0"}, {"0.001", "1.255"}},
    {R"({"type": "integer", "multipleOf": 7})", {"0", "7", "-49", "700", "7.0"}, {"1", "8", "7.5"}},
    {R"({"enum": [1, "a", null, [1, {"x": 2}], {"k": true}]})",
     {"1", "1.0", "\"a\"", "\"\\u0061\"", "null", "[1.00, {\"x\": 2}]", "{\"k\":true}"},
     {"2", "true", "\"b\"", "[1]", "[1,{\"x\":2},3]", "{}", "{\"k\":true,\"l\":1}", "{\"x\":2}"}},
    {R"({"type": "string", "minLength": 1, "maxLength": 2})",
     {"\"a\"", "\"" + kSmile + kSmile + "\"", "\"\\ud83d\\ude00\\u0061\"",
      "\"\\n" + kEAcute + "\""},
     {"\"\"", "\"abc\"", "\"\\ud83d\\ude00ab\"", "1"}},
    {R"({"type": "string", "pattern": "^[a-f]+$"})",
     {"\"abc\"", "\"\\u0061b\\u0063\""},
     {"\"\"", "\"abg\"", "\"\\u0067\"", "\"ab\\n\""}},
    {R"({"type": "string", "pattern": "é\\d{2}"})",
     {"\"x" + kEAcute + "12y\"", "\"\\u00e912\""},
     {"\"" + kEAcute + "1\"", "\"e12\""}},
    {R"({"type": "string", "format": "date-time"})",
     {"\"2024-02-29T23:59:60Z\"", "\"1999-12-31t00:00:00.25+05:30\""},
     {"\"2023-02-29T00:00:00Z\"", "\"2024-01-01T12:00:60Z\"", "\"2024-01-01 12:00:00Z\""}},
    {R"({"type": "string", "format": "time"})",
     {"\"08:30:06Z\"", "\"23:59:60+00:00\"", "\"01:29:60.5+01:30\""},
     {"\"08:30:06\"", "\"24:00:00Z\"", "\"23:59:60+01:00\""}},
    {R"({"type": "string", "format": "duration"})",
     {"\"P4DT12H30M5S\"", "\"P1Y2M3D\"", "\"PT36H\"", "\"P2W\""},
     {"\"P\"", "\"PT\"", "\"P1Y2D\"", "\"P1Y2W\"", "\"PT1H2S\"", "\"4D\""}},
    {R"({"type": "string", "format": "ipv4"})",
     {"\"192.168.0.255\""},
     {"\"256.0.0.1\"", "\"1.2.3\"", "\"01.2.3.4\""}},
    {R"({"type": "string", "format": "ipv6"})",
     {"\"::\"", "\"::1\"", "\"1:2:3:4:5:6:7:8\"", "\"1::8\"", "\"::ffff:1.2.3.4\"",
      "\"1:2:3:4:5:6:7::\""},
     {"\"1:2:3:4:5:6:7\"", "\"1::2::3\"", "\"1:2:3:4:5:6:7:8::\"", "\"12345::\"", "\":1\"",
      "\"1:2:3:4:5:6:7:1.2.3.4\""}},
    {R"({"type": "string", "format": "email"})",
     {"\"joe@example.com\"", "\"a.b+c@[127.0.0.1]\""},
     {"\"joe\"", "\"a..b@c\"", "\"@c\"", "\"a@-c\""}},
    {R"({"type": "string", "format": "uuid"})",
     {"\"2eb8aa08-AA98-11ea-b4aa-73b441d16380\""},
     {"\"2eb8aa08-aa98-11ea-b4aa-73b441d1638\""}},
    {R"({"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "z$"},
                   {"const": "ab"}]})",
     {"\"a\"", "\"z\"", "\"bz\""},
     {"\"az\"", "\"ab\"", "\"b\"", "1"}},
};

const std::vector<Row> kTextsOfArrays = {
    {R"({"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "boolean"},
         "minItems": 1, "maxItems": 3})",
     {"[null]", "[ null , true ]", "[null,true,false]"},
     {"[]", "[true]", "[null,null]", "[null,true,true,true]"}},
    {R"({"items": [{"type": "null"}], "additionalItems": false})", {"[]", "[null]"}, {"[null,1]"}},
    {R"({"contains": {"const": 1}, "minContains": 2, "maxContains": 3})",
     {"[1,0,1]", "[1,1,1,2]", "{}"},
     {"[1]", "[1,1,1,1]", "[]"}},
    {R"({"uniqueItems": true, "maxItems": 1})", {"[]", "[1]"}, {"[1,1]"}},
};

const std::vector<Row> kTextsOfObjects = {
    {R"({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "integer"}},
         "required": ["b"], "additionalProperties": false})",
     {"{\"b\":1}", "{\"b\":1,\"a\":null}", "{\"a\":null,\"b\":1}", "{\"\\u0062\":1}"},
     {"{}", "{\"a\":null}", "{\"b\":1,\"c\":2}", "{\"b\":1,\"b\":1}", "{\"b\":1,}",
      "{\"\":1,\"b\":1}"}},
    {R"({"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": {"type": "string"}})",
     {"{\"x\":null,\"xy\":null,\"y\":\"\"}", "{}"},
     {"{\"x\":1}", "{\"y\":null}"}},
    {R"({"propertyNames": {"pattern": "^[ab]$"}, "minProperties": 2})",
     {"{\"b\":1,\"a\":2}"},
     {"{\"a\":1}", "{\"a\":1,\"c\":2}", "{}"}},
    {R"({"maxProperties": 2, "required": ["r"]})",
     {"{\"r\":1}", "{\"x\":1,\"r\":1}"},
     {"{\"x\":1}", "{\"x\":1,\"y\":2,\"r\":3}", "{\"x\":1,\"y\":2}"}},
    {R"({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["a"]}}})",
     {"{}", "{\"a\":1,\"b\":2}", "{\"b\":2,\"c\":1,\"a\":0}"},
     {"{\"a\":1}", "{\"c\":1}", "{\"c\":1,\"a\":1}"}},
    {R"({"dependencies": {"a": ["b"], "c": {"properties": {"d": {"type": "null"}}}}})",
     {"{\"d\":1}", "{\"c\":1,\"d\":null}"},
     {"{\"a\":1}", "{\"c\":1,\"d\":1}"}},
    {R"({"properties": {"a": {}}, "patternProperties": {"^b": {}}, "unevaluatedProperties": false})",
     {"{\"a\":1,\"bc\":2}"},
     {"{\"c\":1}"}},
    {R"({"prefixItems": [{"type": "null"}], "unevaluatedItems": {"type": "string"}})",
     {"[null]", "[null,\"x\"]"},
     {"[null,1]", "[\"x\"]"}},
};

const std::vector<Row> kTextsOfCombinations = {
    {R"({"oneOf": [{"properties": {"t": {"const": "a"}, "x": {"type": "integer"}}, "required": ["t"]},
                   {"properties": {"t": {"const": "b"}}, "required": ["t", "y"]}],
         "type": "object"})",
     {"{\"x\":1,\"t\":\"a\"}", "{\"t\":\"b\",\"y\":2,\"x\":\"\"}"},
     {"{\"t\":\"b\"}", "{\"x\":\"\",\"t\":\"a\"}", "{\"y\":1}"}},
    {R"({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}], "type": "integer"})",
     {"2", "3", "9", "-4"},
     {"6", "0", "5", "12"}},
    {R"({"allOf": [{"required": ["a"]}, {"properties": {"a": {"minimum": 3}}}],
         "not": {"required": ["b"]}, "type": "object"})",
     {"{\"a\":3,\"c\":1}"},
     {"{\"a\":2}", "{\"a\":3,\"b\":1}", "{}"}},
    {R"({"if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"required": ["a"]},
         "else": {"required": ["b"]}, "type": "object"})",
     {"{\"k\":1,\"a\":0}", "{\"b\":0}", "{\"a\":0,\"k\":1.0}"},
     {"{\"k\":1,\"b\":0}", "{\"a\":0}", "{\"k\":2,\"a\":0}"}},
};

const std::vector<Row> kTextsOfReferences = {
    {R"({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"items": {"$ref": "#"}, "type": "array"}}})",
     {"[]", "[[],[[]]]"},
     {"1", "[1]"}},
    {R"({"$id": "http://x.test/root.json", "properties": {"p": {"$ref": "item.json#i"}},
         "$defs": {"d": {"$id": "item.json", "$anchor": "i", "type": "integer"}}})",
     {"{\"p\":1}"},
     {"{\"p\":null}"}},
    {R"({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"r": {"type": "array"}},
         "$ref": "#/definitions/r", "maxItems": 1})",
     {"[1,2]"},
     {"1"}},
};

void expect_accepted_and_refused(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const auto grammar = Grammar::from_json_schema(row.schema);
    ASSERT_TRUE(grammar.has_value()) << row.schema << "\n" << to_string(grammar.error());
    for (const std::string& text : row.accepted) {
      EXPECT_TRUE(accepts(*grammar, text)) << row.schema << "\n" << text;
    }
    for (const std::string& text : row.refused) {
      EXPECT_FALSE(accepts(*grammar, text)) << row.schema << "\n" << text;
    }
  }
}

TEST(Schema, accepts_and_refuses_texts_of_white_space_numbers_and_strings) {
  expect_accepted_and_refused(kTextsOfValues);
}

TEST(Schema, accepts_and_refuses_texts_of_arrays) { expect_accepted_and_refused(kTextsOfArrays); }

TEST(Schema, accepts_and_refuses_texts_of_objects) { expect_accepted_and_refused(kTextsOfObjects); }

TEST(Schema, accepts_and_refuses_texts_of_combinations) {
  expect_accepted_and_refused(kTextsOfCombinations);
}

TEST(Schema, accepts_and_refuses_texts_of_references) {
  expect_accepted_and_refused(kTextsOfReferences);
}

TEST(Schema, is_refused_by_keyword_and_pointer) {
  const std::pair<const char*, const char*> kRows[] = {
      {R"({"properties": {"a/b": {"minLength": -1}}})",
       "at /properties/a~1b/minLength: minLength is not accepted; accepted is an integer, 0 or "
       "above"},
      {R"({"type": "text"})",
       "at /type: type is not accepted; accepted is null, boolean, integer, number, string, array, "
       "object or a list"},
      {R"({"items": {"uniqueItems": true}})",
       "at /items/uniqueItems: uniqueItems is not supported, but for at most one item"},
      {R"({"$ref": "http://x.test/y"})",
       "at /$ref: $ref 'http://x.test/y' names no schema of this document"},
      {R"({"$ref": "#"})", "$ref leads back to itself without reading anything"},
      {R"({"$dynamicRef": "#a"})", "at /$dynamicRef: $dynamicRef is not supported"},
      {R"({"id": "x"})", "at /id: id as a keyword of draft 4 is not supported; $id is"},
      {R"({"format": "uri"})",
       "at /format: format 'uri' is not supported; accepted are date-time, date, time, duration, "
       "uuid, email, ipv4, ipv6"},
      {R"x({"pattern": "(?=a)"})x",
       "at /pattern: the regular expression '(?=a)' has look-ahead (?= or (?!, which is not "
       "supported"},
      {R"({"multipleOf": 123456.789})",
       "at /multipleOf: compiling takes more than the accepted 5000000 steps"},
      {R"({"definitions": {"r": {}}, "properties": {"a": {"$ref": "#/definitions/r", "maxItems": 1}}})",
       "at /properties/a/maxItems: maxItems beside $ref, which drafts before 2019-09 ignore: say "
       "which "
       "draft it is by $schema"},
      {R"({"$schema": "http://x.test/"})",
       "at /$schema: $schema is 'http://x.test/'; accepted are those of json-schema.org from "
       "draft-04 to "
       "2020-12"},
      {"[]", "is no schema; accepted is an object or a boolean"},
      {"{", "the schema at byte 1: is not JSON in or right after '{'"},
      {"false", "nothing is valid: no instance can end"},
      {R"({"not": {}})", "nothing is valid: no instance can end"},
      {R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"], "type": "object"})",
       "nothing is valid: no instance can end"},
      {R"({"type": "string", "minLength": 3, "maxLength": 2})",
       "nothing is valid: no instance can end"},
  };
  for (const auto& [schema, error] : kRows) {
    const auto grammar = Grammar::from_json_schema(schema);
    ASSERT_FALSE(grammar.has_value()) << schema;
    EXPECT_EQ(to_string(grammar.error()), error) << schema;
  }
}

TEST(Schema, work_is_bounded) {
  std::string deep = "true";
  for (int i = 0; i < 63; ++i) deep = "{\"not\":" + deep + "}";
  EXPECT_TRUE(Grammar::from_json_schema(deep).has_value() ||
              Grammar::from_json_schema(deep).error().kind == GrammarError::Kind::empty);
  std::string chain = "{\"$ref\":\"#/$defs/0\",\"$defs\":{";
  for (int i = 0; i < 5000; ++i) {
    chain += "\"" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/" + std::to_string(i + 1) + "\"},";
  }
  EXPECT_FALSE(Grammar::from_json_schema(chain + "\"5000\":{}}}").has_value());
  for (const char* const schema :
       {R"({"type": "array", "maxItems": 10000000})",
        R"({"type": "string", "pattern": "^(a|aa)+b.*c.{300}d", "minLength": 90000})",
        R"x({"type": "string", "pattern": "(.*a.{25}b)"})x"}) {
    const auto grammar = Grammar::from_json_schema(schema, {.steps_max = 300'000});
    ASSERT_FALSE(grammar.has_value()) << schema;
    EXPECT_EQ(grammar.error().kind, GrammarError::Kind::limit) << schema;
  }
  // Bounds on lengths alone are numbers, not automata.
  EXPECT_TRUE(Grammar::from_json_schema(R"({"type": "string", "maxLength": 100000000})"));
}

/// {"KEYWORD": [value(0), value(1), ...]} with `count` values.
template <class Value>
std::string list_of(const std::string& keyword, int count, const Value& value) {
  std::string text = "{\"" + keyword + "\": [";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + value(std::to_string(i));
  return text + "]}";
}

TEST(Schema, long_lists_compile_and_longer_ones_are_refused) {
  const auto text = [](const std::string& i) { return "\"value " + i + "\""; };
  const auto number = [](const std::string& i) { return i; };
  const auto constant = [&](const std::string& i) { return "{\"const\": " + text(i) + "}"; };
  const auto object = [](const std::string& i) {
    return R"({"properties": {"kind": {"const": )" + i + R"(}}, "required": ["kind"]})";
  };
  const std::tuple<std::string, std::string> kCompiles[] = {
      {list_of("enum", 5000, text), "\"value 4999\""},
      {list_of("enum", 1000, number), "999"},
      {list_of("oneOf", 200, constant), "\"value 199\""},
      {list_of("anyOf", 1000, constant), "\"value 0\""},
      {list_of("oneOf", 100, object), "{\"kind\":99}"}};
  for (const auto& [schema, instance] : kCompiles) {
    const auto grammar = Grammar::from_json_schema(schema);
    ASSERT_TRUE(grammar.has_value()) << schema.substr(0, 60) << to_string(grammar.error());
    EXPECT_TRUE(accepts(*grammar, instance)) << instance;
    EXPECT_FALSE(accepts(*grammar, "\"value\"")) << schema.substr(0, 60);
  }
  const auto words = Grammar::from_json_schema(list_of("enum", 100'000, text));
  ASSERT_FALSE(words.has_value());
  EXPECT_EQ(to_string(words.error()), "compiling takes more than the accepted 5000000 steps");
  const auto cases = Grammar::from_json_schema(list_of("anyOf", 300, object));
  ASSERT_FALSE(cases.has_value());
  EXPECT_EQ(to_string(cases.error()), "combines into more than the accepted 256 cases");
}

TEST(Schema, may_be_nested_to_a_depth) {
  const auto nested = [](int depth) {
    std::string text = "true";
    for (int i = 0; i < depth; ++i) text = "{\"items\": " + text + "}";
    return text;
  };
  EXPECT_TRUE(Grammar::from_json_schema(nested(64)).has_value());
  const auto grammar = Grammar::from_json_schema(nested(65));
  ASSERT_FALSE(grammar.has_value());
  EXPECT_EQ(to_string(grammar.error()), "the schema nests objects and arrays deeper than 64");
}

}  // namespace
}  // namespace forge::grammar
